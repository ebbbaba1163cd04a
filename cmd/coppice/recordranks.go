package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/xtf"
)

// logRanks are the processes that --log-ranks names: a list as 0,3, or a file of an earlier run, whose representatives they are.
func logRanks(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var list []int
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 31)
		if err != nil {
			return representatives(text)
		}
		list = append(list, int(n))
	}
	return list, nil
}

// representatives are the processes that stand for the classes of a run.
func representatives(path string) ([]int, error) {
	run, err := report.Open(path, xtf.Options{})
	if errors.Is(err, os.ErrNotExist) {
		return nil, usage("--log-ranks %q: neither a list of ranks, as 0,3, nor a file of coppice analyze --classes", path)
	}
	if err != nil {
		return nil, ofVerb{fmt.Errorf("--log-ranks: %w", err)}
	}
	defer run.File.Close()
	k, err := run.Classes()
	if err != nil {
		return nil, ofVerb{fmt.Errorf("--log-ranks: %w", err)}
	}
	var list []int
	for i := range k.Groups {
		for j := range k.Groups[i].Classes {
			list = append(list, int(k.Groups[i].Classes[j].Representative))
		}
	}
	return list, nil
}
