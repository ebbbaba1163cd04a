package predict

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// ImportLogGOPS makes the platform that LogGOPSim has for some letters, such as "L=2500,o=1500,g=1000,G=6,O=0,S=65535" in ns
// and bytes; letters left out have those values, its defaults. The network takes an arrived message at once and a rendezvous
// has no latency for the answer, as there (Hoefler, Schneider, Lumsdaine 2010).
func ImportLogGOPS(letters string) (*Platform, error) {
	l := &simnet.Link{Latency: 2500e3, SendOver: 1500e3, RecvOver: 1500e3, Gap: 1000e3, PerByte: 6000 << 32, Eager: 65535}
	p := NewPlatform()
	p.Name, p.Policy, p.NoRendezvousLatency, p.Links[simnet.LinkNet] = "LogGOPSim", simnet.Arrival, true, l
	seen := map[string]bool{}
	for _, part := range strings.Split(letters, ",") {
		letter, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seen[letter] {
			return nil, fmt.Errorf("%s is there twice", tomltree.Clip(letter))
		}
		seen[letter] = true
		x, ok := decimal(text)
		if !ok || x.Sign() < 0 {
			return nil, fmt.Errorf("%q: give L, o, g, G, O in ns and S in bytes, as in L=2500,o=1500,G=0.5", tomltree.Clip(part))
		}
		if err := setLetter(l, letter, x); err != nil {
			return nil, fmt.Errorf("%s: %w", tomltree.Clip(part), err)
		}
	}
	return p, nil
}

// setLetter sets what a letter of LogGOPSim means.
func setLetter(l *simnet.Link, letter string, x exact.Number) error {
	var ps uint64
	ok, allowed := true, aTime
	time := func(to ...*int64) {
		ps, ok = scaled(x, 1000, maxTimeNS*1000)
		for _, t := range to {
			*t = int64(ps)
		}
	}
	switch letter {
	case "L":
		time(&l.Latency)
	case "o":
		time(&l.SendOver, &l.RecvOver)
	case "g":
		time(&l.Gap)
	case "G":
		l.PerByte, ok = rateOf(x)
		allowed = aRate
	case "O":
		l.OverByte, ok = rateOf(x)
		allowed = aRate
	case "S":
		l.Eager, ok = scaled(x, 1, maxBytes)
		ok, allowed = ok && x.IsInt(), "a whole number of 0 to 2^62 bytes"
	default:
		return fmt.Errorf("no letter of LogGOPSim: there are L, o, g, G, O and S")
	}
	if !ok {
		return fmt.Errorf("allowed is %s", allowed)
	}
	return nil
}

// bandwidth turns bytes a second into the time of a byte.
func bandwidth(bytesPerSecond exact.Number) (simnet.Rate, bool) {
	if bytesPerSecond.Sign() <= 0 {
		return 0, false
	}
	return rateOf(exact.Int(1e9).Over(bytesPerSecond))
}

// maxImport bounds the size of a file of another tool, bytes.
const maxImport = 4 << 20

// readImport reads a file of another tool.
func readImport(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlatform, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxImport+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrPlatform, path, err)
	}
	if len(data) > maxImport {
		return nil, &tomltree.Error{Base: ErrPlatform, File: path, Text: fmt.Sprintf("larger than %d bytes", maxImport)}
	}
	return data, nil
}
