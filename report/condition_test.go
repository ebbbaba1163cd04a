package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/diff"
	"github.com/coppice-hpc/coppice/report/results"
)

func TestParseCondition(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ text, interval, metric, op, value, unit string }{
		{"efficiency<0.8", "root", "efficiency", "<", "[8,10]", ""},
		{" parallel_efficiency <= 80 % ", "root", "parallel_efficiency", "<=", "[80,1]", "%"},
		{"interval:solve.efficiency<0.7", "solve", "efficiency", "<", "[7,10]", ""},
		{"interval:exch.c:160.lost>1.5s", "exch.c:160", "lost", ">", "[15,10]", "s"},
		{`interval:"a<b.c".wait>=10ms`, "a<b.c", "wait", ">=", "[10,1]", "ms"},
		{"interval:2.late_sender!=0", "2", "late_sender", "!=", "[0,1]", ""},
		{"calls==12", "root", "calls", "==", "[12,1]", ""},
		{"idle>-1ticks", "root", "idle", ">", "[-1,1]", "ticks"},
	} {
		c, err := ParseCondition(x.text)
		if err != nil {
			t.Errorf("%q: %v", x.text, err)
			continue
		}
		if c.Interval != x.interval || c.Metric.Name != x.metric || c.Op != x.op || parts(c.Value) != x.value || c.Unit != x.unit {
			t.Errorf("%q: %q %q %q %s %q", x.text, c.Interval, c.Metric.Name, c.Op, parts(c.Value), c.Unit)
		}
	}
}

func TestBadConditions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "character 1: not a condition: a comparison is missing",
		"efficiency":                      "character 11: not a condition: a comparison is missing",
		"efficency<1":                     `character 1: not a condition: no metric "efficency": choose from efficiency, `,
		"efficiency=1":                    "character 11: not a condition: no comparison",
		"efficiency<":                     `character 12: not a condition: "" is not a number`,
		"efficiency<1e5":                  "character 13: not a condition: no unit of efficiency: choose from %",
		"efficiency<1/3":                  "character 13: not a condition: no unit",
		"calls<1s":                        "character 8: not a condition: calls has no unit",
		"lost<1h":                         "character 7: not a condition: no unit of lost: choose from s, ms, us, ns, ticks",
		"interval:x<1":                    "character 10: not a condition: write interval:NAME.METRIC",
		`interval:"x.efficiency<1`:        "character 10: not a condition: the quoted name does not end",
		`interval:"x"efficiency<1`:        "character 13: not a condition: a point and a metric have to follow",
		"lost<1.2.3":                      `"1.2.3" is not a number`,
		strings.Repeat("x", 1001):         "longer than 1000 bytes",
		"lost<" + strings.Repeat("9", 41): "is not a number",
	} {
		_, err := ParseCondition(text)
		if !errors.Is(err, conditions.ErrSyntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	r := goldenG3(t) // ticks are microseconds
	for _, x := range []struct {
		text  string
		holds bool
		says  string
	}{
		{"efficiency<0.8325", false, "efficiency of whole program is 0.832500"},
		{"efficiency<=0.8325", true, ""},
		{"efficiency==83.25%", true, ""},
		{"interval:body.efficiency<0.83", true, "efficiency of body  exch.c:160 is 0.823864"},
		{"interval:1.late_sender>=4us", true, ""},
		{"interval:1.late_sender>0.004ms", false, "is 0.000004 s"},
		{"interval:exch.c:160.wait==2ticks", true, ""},
		{"interval:#2.dephasing==1ticks", true, ""},
		{"serialisation_efficiency<0.9", true, ""},
		{"executions!=2", false, "executions of whole program is 2"},
		{"interval:body.communication_efficiency>88%", true, ""},
	} {
		c, err := ParseCondition(x.text)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Judge(r, []*Condition{c}, results.Rules{})
		if err != nil || v[0].Holds != x.holds || !strings.Contains(v[0].Text, x.says) {
			t.Errorf("%s: %+v, %v", x.text, v, err)
		}
	}
	c, err := ParseCondition("interval:nowhere.efficiency<1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Judge(r, []*Condition{c}, results.Rules{}); !errors.Is(err, results.ErrInterval) || !strings.Contains(err.Error(), "it has root, 1, body") {
		t.Error(err)
	}
}

// TestUnknownFails checks that what is not defined counts as failing.
func TestUnknownFails(t *testing.T) {
	t.Parallel()
	r := (&written{nodes: []writtenNode{rootNode(items{})}}).write(t, 1)
	c, err := ParseCondition("parallel_efficiency<0.1")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Judge(r, []*Condition{c}, results.Rules{}); err != nil || !v[0].Holds || !strings.Contains(v[0].Text, "not known") {
		t.Errorf("%+v, %v", v, err)
	}
}

// FuzzCondition checks that any text is a condition or an error that says where.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{"efficiency<0.8", `interval:"a.b".lost>=1.5ms`, "interval:x.y.z==1", "wait!=3%", "interval:", "\x00<", "lost<-+1"} {
		f.Add(seed)
	}
	f.Add("interval:a.b.cpu.change<=-1ms")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := diff.ParseCondition(text); err != nil && !errors.Is(err, conditions.ErrSyntax) {
			t.Fatal(err)
		}
		c, err := ParseCondition(text)
		if err != nil {
			if !errors.Is(err, conditions.ErrSyntax) || !strings.Contains(err.Error(), "character") {
				t.Fatal(err)
			}
			return
		}
		if c.Op == "" || !c.Value.Known() || c.Metric.Value == nil {
			t.Fatalf("%q: %+v", text, c)
		}
		if _, err := c.Limit(1_000_000_000); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Limit(0); err != nil && !errors.Is(err, conditions.ErrSyntax) {
			t.Fatal(err)
		}
	})
}

// TestMetricsAreDocumented looks for every name in the document of metrics.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range conditions.Names(results.Metrics()) {
		if !strings.Contains(string(b), "`"+name+"`") {
			t.Errorf("docs/metrics.md does not explain %s", name)
		}
	}
}
