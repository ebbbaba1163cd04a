package cluster

// Result is what Classify found. All ranks get the same, but for Class and Merges.
type Result struct {
	// Class holds the class of each member of this rank, as an index into Classes, in the order of its Vectors.
	Class []uint32
	// Classes are ordered by their lowest member.
	Classes []Class
	// Merges are on rank 0 alone: every merge at or below the threshold, and all of them with Options.Full or
	// MaxClasses. They are ordered by (height, A, B); with Centroid in the order in which they happened.
	Merges []Merge

	Members  uint32 // of all ranks
	Distinct uint32 // distinct vectors among them
	// Threshold is the height of the cut, in units of 2^-Fraction; with MaxClasses the height that was chosen.
	Threshold Height
	// Fraction is the number of binary places of heights: 0 for L1.
	Fraction uint8
	// Components is the number of parts that were clustered apart, because no pair across is within the threshold,
	// Largest the distinct vectors of the largest.
	Components, Largest uint32
	Approximation       Approximation
}

// Class is a set of members.
type Class struct {
	First          uint32 // lowest id
	Representative uint32 // id
	Size           uint32 // members
}

// Merge is one step of the dendrogram: the clusters whose lowest members are A and B, A below B, became one.
type Merge struct {
	A, B   uint32
	Size   uint32 // members of the new cluster
	Height Height
}

// Height is an exact fraction: Units / Pairs, in units of 2^-Fraction. Pairs is 1 unless the linkage is a mean; Units is then
// below 2^63.
type Height struct {
	Units, Pairs uint64
}

// Approximation is the effect of rounding and of leaders on a result.
type Approximation struct {
	// Rounded is the largest L1 distance between a member's vector and its rounded one (Options.Quantum), in units of
	// the vectors. A bound of L1 distances holds for the members as they are with 2·Rounded added.
	Rounded uint64
	// Leaders is the number of distinct vectors that represented Led others, each within Radius (units of 2^-Fraction). The bound
	// t of a class then grows to t + 2·Radius.
	Leaders, Led uint32
	Radius       uint64
}
