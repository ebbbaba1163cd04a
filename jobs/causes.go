package jobs

import "github.com/coppice-hpc/coppice/xtf"

// causeArrays are the arrays of stageCauses in the region of a location.
var causeArrays = []xtf.TypeID{xtf.TypeCPath, xtf.TypeDelay}

// causeTotals are those of the whole run.
var causeTotals = []xtf.TypeID{xtf.TypeDelayTotal, xtf.TypePathTotal}

// causes finds what the wait states come from.
func (a *analysis) causes() error { return nil }
