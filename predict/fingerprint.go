package predict

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// Fingerprint is a hash of what the platform is for so many processes. Paths are not part of it, what a mapping table says is.
func (p *Platform) Fingerprint(processes uint32) ([32]byte, error) {
	q := *p
	var nodes []uint32
	if q.Mapping != "block" && q.Mapping != "cyclic" {
		n, err := p.Network(processes)
		if err != nil {
			return [32]byte{}, err
		}
		q.Mapping, nodes = "table", n.Node
	}
	var b bytes.Buffer
	if err := q.Write(&b); err != nil {
		return [32]byte{}, err
	}
	text := b.Bytes()
	for _, n := range nodes {
		text = binary.LittleEndian.AppendUint32(text, n)
	}
	return sha256.Sum256(text), nil
}
