package main

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

func (q *query) number() (uint64, error) {
	if q.n == "" {
		return 0, usage("query: %s needs a row number: --n N", q.primitive)
	}
	return parseNumber("--n", q.n)
}

func parseNumber(flag, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, usage("query: %s %s: not a number", flag, text)
	}
	return n, nil
}

// from is the key that --time or --key give.
func (q *query) from() (uint64, error) {
	switch {
	case q.time != "" && q.key != "":
		return 0, usage("query: --time and --key exclude each other")
	case q.time != "":
		return q.instant("--time", q.time)
	case q.key != "":
		return parseNumber("--key", q.key)
	}
	return 0, usage("query: %s needs --time, --key or --n", q.primitive)
}

// instant reads a time or, for rows ordered by another key, a number.
func (q *query) instant(flag, text string) (uint64, error) {
	if q.array.Type().Role != xtf.RoleT {
		return parseNumber(flag, strings.TrimPrefix(text, "#"))
	}
	return q.tick(flag, text)
}

// tick reads 12.5s, 40% or #TICKS.
func (q *query) tick(flag, text string) (uint64, error) {
	if ticks, ok := strings.CutPrefix(text, "#"); ok {
		return parseNumber(flag, ticks)
	}
	b, err := q.run.Brief()
	if err != nil {
		return 0, readError(q.run.Name, err)
	}
	share, percent := strings.CutSuffix(text, "%")
	v, ok := new(big.Rat).SetString(strings.TrimSuffix(share, "s"))
	switch {
	case !ok || len(text) > 40 || strings.ContainsAny(text, "/eE"):
		return 0, usage("query: %s %s: write for example 12.5s, 40%% or #1000", flag, text)
	case percent && (b.First == nil || b.Last == nil):
		return 0, usage("query: %s %s: the run has no span", flag, text)
	case percent:
		v.Mul(v, big.NewRat(1, 100))
		v.Mul(v, ratOf(*b.Last-min(*b.First, *b.Last)))
		v.Add(v, ratOf(*b.First))
	case b.Resolution == 0:
		return 0, usage("query: %s %s: the trace does not tell its clock's resolution, give #TICKS", flag, text)
	default:
		v.Mul(v, ratOf(b.Resolution))
	}
	ticks := new(big.Int).Quo(v.Num(), v.Denom())
	if v.Sign() < 0 || !ticks.IsUint64() {
		return 0, usage("query: %s %s: outside of what a clock can show", flag, text)
	}
	return ticks.Uint64(), nil
}

func ratOf(v uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(v)) }
