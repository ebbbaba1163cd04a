package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a flag value in bytes: 64K, 10M, 2G are binary, KB, MB, GB decimal.
type size int64

var sizeUnits = []struct {
	suffix string
	bytes  float64
}{
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"KIB", 1 << 10},
	{"MIB", 1 << 20},
	{"GIB", 1 << 30},
	{"TIB", 1 << 40},
	{"K", 1 << 10},
	{"M", 1 << 20},
	{"G", 1 << 30},
	{"T", 1 << 40},
}

// Set parses a size.
func (s *size) Set(text string) error {
	number, unit := strings.ToUpper(text), 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = rest, u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || v < 0 || v*unit > math.MaxInt64/2 || math.IsNaN(v) {
		return fmt.Errorf("%q is no size: write for example 64K, 10M, 2G or 1.5GB", text)
	}
	*s = size(v * unit)
	return nil
}

// String prints the size in the largest binary unit.
func (s *size) String() string {
	if *s <= 0 {
		return ""
	}
	return binary(int64(*s))
}

// Type names the value in help texts.
func (s *size) Type() string { return "SIZE" }

// binary prints bytes in binary units with two digits.
func binary(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
