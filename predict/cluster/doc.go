// Package cluster groups processes of equal call sequence by their computation
// vectors: agglomerative clustering with exact distances, the members shared out
// over the ranks of an mpi.Comm. One member of each class, its representative,
// stands for the others.
//
//	r, err := cluster.Classify(ctx, c, vectors, cluster.Options{Threshold: cluster.Threshold{PPM: 50_000}})
//	for _, class := range r.Classes {
//		fmt.Println(class.Representative, "stands for", class.Size)
//	}
//
// # Distances
//
// Vectors hold integers: ns, or ticks. L1 distances are sums of absolute
// differences; with complete linkage a class is then bounded: the sums of two of
// its members differ by at most the threshold. L2 distances are multiples of
// 2^-Fraction, rounded up, so that d <= t holds for the rounded distance when it
// holds for the exact one; Fraction is 20, less where distances are above 2^42.
// The mean of average linkage is a sum of distances over a number of pairs, and
// two means are compared by their products in 128 bits. No float decides anything.
//
// # Range
//
// All sums are exact in 63 bits, their products and squares in 128. What does not
// fit is ErrRange, with what to do, before any distance is computed:
//
//   - A member is less than 2^62 away from the member of the lowest id.
//   - With a threshold in millionths, its entries add up to less than 2^62.
//   - In a part of W > 2 members that are up to D apart, W·D is below 2^63: the
//     squares that choose a representative are then below 2^126. For a medoid and
//     L2, D is √m times as large.
//   - With average and centroid linkage, D·((W+1)/2)² is below 2^63 too, in units
//     of 2^-Fraction: the largest sum over the pairs of two clusters. L2 first
//     loses as many binary places as it takes.
//
// D is the sum of the two largest distances to one point of the part, which is at
// most twice the largest distance of two members. With a day of
// differences in ns, 2^47, a part may have 65535 members, or 510 with average linkage.
//
// # Order
//
// Pairs of clusters are ordered by (height, i, k), where i < k are their lowest
// members. A result is what merging the least pair again and again gives, for
// complete, average and centroid linkage, so it depends on ids and vectors alone:
// not on ranks, workers or memory. Single linkage merges along the minimum
// spanning tree in the order (distance, i, k) of its edges: its classes are the
// same at every height, merges of equal height may be others.
//
// # Steps
//
//  1. Survey: one pass over all vectors. SHA-256 digests find equal ones; from
//     here on there are n points, distinct vectors with the number of their members.
//  2. Split: what is above the threshold does not matter for the classes. Where
//     neighbours in the order of their sums are too far apart, or in the order of
//     their distances to a pivot, no pair across is within the threshold.
//  3. Parts of up to 4096 points, or all where there is one rank, are each on one
//     rank, larger ones on all ranks together: the lower triangle of their distances,
//     its rows dealt out to the ranks. Pairs that are each other's nearest merge at
//     once; where they are few, the nearest-neighbour chain goes on. Single linkage
//     takes Borůvka's spanning tree from the same distances.
//  4. Parts of more than Options.ExactMax points: leaders within a quarter of the
//     threshold stand for the others, which Result.Approximation tells.
//  5. Cut, classes, representatives.
//
// # Memory
//
// A rank takes at most, in bytes, for K members and n points of all ranks, m
// entries, p ranks, M = Options.Memory, and parts of c points:
//
//	M                    vectors and messages: its own vectors, where they fit a quarter of it, and panels
//	                     of entries of the vectors it works on
//	2 MiB + 400·K/p      survey
//	100·min(K, n·p)      vectors of all ranks, while equal ones are found
//	160·n                points, parts, classes
//	200·K                on rank 0: merges
//	e·c²/2               distances of a part that one rank does; several such parts together at most M
//	e·c²/2p + 100·c + 4·8 MiB   distances of a part that all ranks do, with messages of at most 8 MiB each
//	                     or of one row to each rank
//	50 KiB               a worker
//
// e is 4 for L1 with complete or single linkage, where the two largest distances
// to a point of the part add up to less than 2^32; else 8; 16 for L2 where squares may pass 2^64.
// Vectors are never held whole when they do not fit: n·m/p is not needed.
// Centroid linkage takes 8·n·m on rank 0, which has to fit half of M.
//
// # Concurrency
//
// Classify is collective. Vectors are read by one goroutine at a time.
package cluster
