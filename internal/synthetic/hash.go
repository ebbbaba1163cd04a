package synthetic

// mix is a hash of four words (the finaliser of splitmix64 over a sum of
// products with odd constants). All randomness of a program comes from it, so
// that any part can be made without the parts before it.
func mix(seed, a, b, salt uint64) uint64 {
	z := seed + a*0x9E3779B97F4A7C15 + b*0xD1B54A32D192ED03 + salt*0x8CB92BA72F3D8DD7 + 0x632BE59BD9B4E019
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	z = (z ^ z>>29) * 0xBF58476D1CE4E5B9
	return z ^ z>>32
}

// Salts: one per use of mix.
const (
	saltWork uint64 = iota + 1
	saltImbalance
	saltStart
	saltLeave
	saltThread
	saltOffset
	saltDrift
	saltSkew
	saltRound
	saltPair
	saltTree
	saltTask
	saltArrive
	saltEnter
)
