package ccg

// classTable holds the classes of a structure node: the distinct rows of gaps
// and of its children's classes that its instances have, over all locations.
//
// Position i of a row is child i; of a Repeat of at most Fan iterations it is
// iteration i, and a longer Repeat, whose iterations are all alike, has position
// 0 alone. The tail gap of a Call is the last position of gaps. Gaps before
// artificial children, and classes of Events, do not exist and are 0.
type classTable struct {
	rows       int
	gapsPerRow int
	kidsPerRow int
	gaps       []uint64 // ticks, row after row
	kids       []uint32 // rows of the children's tables, likewise
}
