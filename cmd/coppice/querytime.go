package main

import (
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

func (q *query) number() (uint64, error) {
	if q.n == "" {
		return 0, usage("%s needs a row number: --n N", q.primitive)
	}
	return parseNumber("--n", q.n)
}

func parseNumber(flag, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, usage("%s %s: not a number", flag, text)
	}
	return n, nil
}

// from is the key that --time or --key give.
func (q *query) from() (uint64, error) {
	switch {
	case q.time != "" && q.key != "":
		return 0, usage("--time and --key exclude each other")
	case q.time != "":
		return q.instant("--time", q.time)
	case q.key != "":
		return parseNumber("--key", q.key)
	}
	return 0, usage("%s needs --time, --key or --n", q.primitive)
}

// instant reads a time or, for rows ordered by another key, a number.
func (q *query) instant(flag, text string) (uint64, error) {
	if q.array.Type().Role != xtf.RoleT {
		return parseNumber(flag, strings.TrimPrefix(text, "#"))
	}
	return q.tick(flag, text)
}

// tick reads 12.5s, 40% or #TICKS.
func (q *query) tick(flag, text string) (uint64, error) { return tickAt(q.run, flag, text) }
