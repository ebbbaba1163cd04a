package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden is one linkage of one data set in testdata/golden.json, as scipy and fastcluster found it.
type golden struct {
	Sum    float64      `json:"sum_heights"`
	First  []float64    `json:"first3"`
	Last   []float64    `json:"last5"`
	Merges [][4]float64 `json:"merges"` // in A and B12x4
	counts map[uint64]int
}

type goldenData struct {
	name    string
	vectors [][]int64
	results map[string]golden
	sums    map[string]float64 // of all distances
}

func readGolden(t *testing.T) []goldenData {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Clustering []map[string]json.RawMessage }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	decode := func(b json.RawMessage, v any) {
		t.Helper()
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	var list []goldenData
	for _, c := range file.Clustering {
		d := goldenData{results: map[string]golden{}, sums: map[string]float64{}}
		var n, m int
		decode(c["name"], &d.name)
		decode(c["K"], &n)
		decode(c["m"], &m)
		d.vectors = generated(n, m)
		if b, ok := c["vectors"]; ok {
			d.vectors = nil
			decode(b, &d.vectors)
		}
		for key, b := range c {
			if metric, ok := strings.CutPrefix(key, "sum_dist_"); ok {
				var s float64
				decode(b, &s)
				d.sums[metric] = s
			} else if strings.HasPrefix(key, "L") {
				g := golden{counts: map[uint64]int{}}
				decode(b, &g)
				var all map[string]json.RawMessage
				decode(b, &all)
				for k, v := range all {
					if at, ok := strings.CutPrefix(k, "clusters_at_"); ok {
						height, _ := strconv.ParseUint(at, 10, 64)
						g.counts[height], _ = strconv.Atoi(string(v))
					}
				}
				d.results[key] = g
			}
		}
		list = append(list, d)
	}
	return list
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, d := range readGolden(t) {
		if testing.Short() && len(d.vectors) > 500 {
			continue
		}
		for metric, mname := range []string{"L1", "L2"} {
			for linkage, lname := range []string{"complete", "average", "single"} {
				o := Options{Metric: Metric(metric), Linkage: Linkage(linkage), Full: true}
				name := mname + "_" + lname
				t.Run(d.name+"/"+name, func(t *testing.T) {
					// Ties in integer L1 data: heights depend on the order of rows, by up to 0.06 %.
					within := 2e-6
					if mname == "L1" && lname != "single" && len(d.vectors) >= 200 {
						within = 1e-3
					}
					compareGolden(t, d.results[name], d.vectors, o, within)
				})
			}
		}
	}
}

func compareGolden(t *testing.T, want golden, vectors [][]int64, o Options, within float64) {
	t.Helper()
	r := must(t, 3, vectors, o)
	var sum float64
	heights := make([]float64, len(r.Merges))
	for i, m := range r.Merges {
		heights[i] = m.Height.Float(r.Fraction)
		sum += heights[i]
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > within*math.Max(1, want) {
			t.Errorf("%s: %.7f, want %.7f", what, got, want)
		}
	}
	near("sum of heights", sum, want.Sum)
	for i, h := range want.First {
		near(fmt.Sprint("height ", i), heights[i], h)
	}
	for i, h := range want.Last {
		near(fmt.Sprint("height from the end ", len(want.Last)-i), heights[len(heights)-len(want.Last)+i], h)
	}
	for i, m := range want.Merges {
		near(fmt.Sprint("height ", i), heights[i], m[2])
	}
	for at, n := range want.counts {
		o.Threshold.Absolute, o.Full = at, false
		got := len(must(t, 2, vectors, o).Classes)
		if got != n && (within < 1e-4 || math.Abs(float64(got-n)) > float64(n)/20) {
			t.Errorf("%d classes at %d, want %d", got, at, n)
		}
	}
}

// The smallest data set in full, as the definition has it.
func TestGoldenClasses(t *testing.T) {
	t.Parallel()
	d := readGolden(t)[0]
	r := must(t, 1, d.vectors, Options{Threshold: Threshold{Absolute: 10}})
	want := []Class{{0, 0, 3}, {3, 3, 3}, {6, 6, 2}}
	if diff := cmp.Diff(want, r.Classes); diff != "" {
		t.Error(diff)
	}
	var heights []uint64
	for _, m := range must(t, 1, d.vectors, Options{Full: true}).Merges {
		heights = append(heights, m.Height.Units)
	}
	if diff := cmp.Diff([]uint64{1, 2, 2, 3, 6, 124, 264}, heights); diff != "" {
		t.Error(diff)
	}
	c := contest{points: []int32{3, 4, 5}, first: 3, size: 3, score: make([][2]uint64, 3)}
	j := election{space: &space{team: &team{workers: 1}, pts: []point{{weight: 1}, {weight: 1}, {weight: 1}, {weight: 1}, {weight: 1}, {weight: 1}}}}
	data := make([]int64, 0, 18)
	for _, v := range d.vectors[:6] {
		data = append(data, v...)
	}
	j.nearestMean(&c, newRows(data, 3))
	for i, w := range []uint64{14, 26, 44} { // 1.556, 2.889 and 4.889 times 3²
		if c.score[i] != [2]uint64{0, w} {
			t.Errorf("score %d is %v, want %d", i, c.score[i], w)
		}
	}
}
