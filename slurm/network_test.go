package slurm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHostlists: expressions have just the names that Slurm itself expands them to.
func TestHostlists(t *testing.T) {
	scontrol, err := exec.LookPath("scontrol")
	if err != nil {
		t.Skip("scontrol is not installed: ./scripts/setup --test installs it")
	}
	conf := filepath.Join(t.TempDir(), "slurm.conf")
	if err := os.WriteFile(conf, []byte("ClusterName=test\nSlurmctldHost=localhost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"dev[0-5]", "tux[0-3,12,18-20]", "a[1-3,07-09]x[2-3],b", "n[8-11],n[098-101]", "r[0-1]c[00-02]n[1-2]", "login", "x[5]"} {
		c := exec.Command(scontrol, "show", "hostnames", text)
		c.Env = append(os.Environ(), "SLURM_CONF="+conf)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("scontrol show hostnames %s: %v", text, err)
		}
		want := strings.Fields(string(out))
		list, err := parseHostlist(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		names := []string{"b1", "dev", "dev6", "dev00", "x", "x05", "x55", "login1", "r0c0n1", "r2c00n1"} // that none has
		for i := range 1200 {
			names = append(names, fmt.Sprint("n", i), fmt.Sprintf("n%03d", i), fmt.Sprint("tux", i), fmt.Sprintf("tux%02d", i), fmt.Sprint("dev", i))
			for k := range 5 {
				names = append(names, fmt.Sprintf("a%dx%d", i, k), fmt.Sprintf("a%02dx%d", i, k))
			}
		}
		for _, name := range append(names, want...) {
			if list.has(name, new(int)) != slices.Contains(want, name) {
				t.Errorf("%s: has %s is %t", text, name, list.has(name, new(int)))
			}
		}
	}
}

// TestHostlistBacktracks: an expression that has a name in very many ways is compared with it by places, not by ways.
func TestHostlistBacktracks(t *testing.T) {
	const parts = 100 // 2^100 ways to deal out 150 to 200 digits
	list, err := parseHostlist(strings.Repeat("[0-99]", parts) + "x")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		strings.Repeat("1", 150) + "x": true, strings.Repeat("1", 200) + "x": true,
		strings.Repeat("1", 150) + "y": false, strings.Repeat("1", 201) + "x": false, strings.Repeat("1", 99) + "x": false, strings.Repeat("1", mostName) + "x": false,
	} {
		if list.has(name, new(int)) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

func TestNetworks(t *testing.T) {
	const tree = "# two levels\nSwitchName=s0 Nodes=dev[0-5]\nSWITCHNAME=s1 nodes=dev[6-11] LinkSpeed=9\nSwitchName=s2 \\\n Nodes=dev[12-17]\nSwitchName=top Switches=s[0-2]\n"
	n, err := ReadNetwork(tree)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(n.Of("dev5"), n.Of("dev6.cluster.example"), n.Of("dev12"), n.Of("dev18"), n.Switches[1].Above, n.Switches[3].Above); got != "[0] [1] [2] [] [3] []" {
		t.Error(got)
	}
	if n, err = ReadNetwork("BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockName=b3 Nodes=n[9-12]\nBlockName=b4 Nodes=n[13-16]\nBlockSizes=4,8,16\n"); err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, s := range n.Switches {
		text = append(text, fmt.Sprintf("%s %v", s.Name, s.Above))
	}
	if got, want := strings.Join(text, ", "), "b1 [4], b2 [4], b3 [5], b4 [5], blocks of 8 nodes: 0 [6], blocks of 8 nodes: 1 [6], blocks of 16 nodes: 0 []"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, bad := range []string{
		"", "# nothing\n", "SwitchName=a\nSwitchName=a\n", "SwitchName=a Nodes=x[1\n", "SwitchName=a Nodes=x]1\n", "SwitchName=a Nodes=x[2-1]\n", "SwitchName=a Nodes=,x\n",
		"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "SwitchName=a Switches=a\n", "SwitchName=a\nBlockName=b\n", "BlockName=a\nBlockSizes=4,6\n", "BlockName=a\nBlockSizes=0\n", "Include other\n",
	} {
		if _, err := ReadNetwork(bad); !errors.Is(err, ErrNetwork) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// manySwitches is a file of so many switches, each with a list of those below it.
func manySwitches(list func(i int) string) string {
	var b strings.Builder
	for i := range mostSwitches {
		fmt.Fprintf(&b, "SwitchName=%d Switches=%s\n", i, list(i))
	}
	return b.String()
}

// eighth has the next eight below every eighth switch.
func eighth(i int) string {
	if i%8 > 0 {
		return ""
	}
	return fmt.Sprintf("[%d-%d]", i+1, i+8)
}

// TestLongLists: a file whose lists have milliards of ranges and names to compare, is refused after mostSteps of them; one
// of as many switches, one of eight with others below it, is read.
func TestLongLists(t *testing.T) {
	n, err := ReadNetwork(manySwitches(eighth))
	if err != nil || fmt.Sprint(n.Switches[9].Above, n.Switches[16].Above) != "[8] [8]" {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"alternatives": "x[1],", "ranges": "", "names": "y,",
	} {
		if testing.Short() && name != "ranges" {
			continue // each is compared until there are too many steps
		}
		list := strings.Repeat(text, mostNetwork/16/max(1, len(text)))
		if text == "" {
			list = "[" + strings.Repeat("7,", mostNetwork/32) + "7]"
		}
		hostile := manySwitches(func(i int) string {
			if i == 0 {
				return strings.TrimSuffix(list, ",")
			}
			return "z"
		})
		if _, err := ReadNetwork(hostile); !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "too long to be compared") {
			t.Errorf("%s: %v", name, err)
		}
	}
	steps := 0
	long := hostlist{{{ranges: make([]hostRange, mostSteps/1000)}, {text: "x"}}}
	if long.has(strings.Repeat("1", mostName), &steps); steps > mostSteps+mostSteps/1000*18+mostName {
		t.Errorf("%d steps for one name", steps)
	}
}

func BenchmarkReadNetwork(b *testing.B) {
	text := manySwitches(eighth)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ReadNetwork(text); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzNetwork(f *testing.F) {
	f.Add("SwitchName=s0 Nodes=dev[0-5]\nSwitchName=s1 Switches=s0\n", "dev3")
	f.Add("BlockName=b Nodes=n[01-16]x[1-3]\nBlockSizes=4,8\n", "n07x2")
	f.Fuzz(func(t *testing.T, text, node string) {
		n, err := ReadNetwork(text)
		if err != nil {
			return
		}
		for _, i := range n.Of(node) {
			for steps := 0; len(n.Switches[i].Above) > 0; steps++ {
				if i = n.Switches[i].Above[0]; steps > len(n.Switches) {
					t.Fatalf("a circle in %q", text)
				}
			}
		}
	})
}
