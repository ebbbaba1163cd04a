package browser_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/coppice-hpc/coppice/bench/browser"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// painted counts pixels of the timeline that have exactly the colour of a name of style.css.
func painted(t testing.TB, s *browser.Session, colour string) int {
	t.Helper()
	return eval[int](t, s, fmt.Sprintf(`(() => {
		const {canvas, box} = coppice.timeline;
		const probe = document.createElement('canvas').getContext('2d');
		probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--%s');
		const want = parseInt(probe.fillStyle.slice(1), 16);
		const {data} = canvas.getContext('2d').getImageData(box.x, box.y, box.w, box.h);
		let n = 0;
		for (let k = 0; k < data.length; k += 4) n += ((data[k] << 16) | (data[k + 1] << 8) | data[k + 2]) === want;
		return n;
	})()`, colour))
}

// rest waits until all that was asked for is drawn.
func rest(t testing.TB, s *browser.Session) {
	t.Helper()
	must(t, s.Do("document.documentElement.dataset.state = 'busy'; coppice.schedule()"))
	must(t, s.Wait(browser.Ready))
}

// tool is the place of a button of the toolbar.
func tool(t testing.TB, s *browser.Session) [4]float64 {
	t.Helper()
	return eval[[4]float64](t, s, "(() => { const a = document.getElementById('b-back').getBoundingClientRect(), b = document.getElementById('b-help').getBoundingClientRect(); return [a.x, a.y, b.x, b.y]; })()")
}

// TestLegend takes colours and lanes away and brings them back, and gives one function alone its colour. All of it is in the address.
func TestLegend(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "t=1000000..2400000&rows=0..8&off=wmc&tab=statistics")
	where := tool(t, s)
	button := func(name string) string {
		return fmt.Sprintf("[...document.querySelectorAll('#legend button')].find((b) => b.innerText.startsWith('%s'))", name)
	}
	click := func(name, options string) {
		t.Helper()
		must(t, s.Do(button(name)+".dispatchEvent(new MouseEvent('click', {bubbles: true, "+options+"}))"))
		rest(t, s)
	}
	p2p, coll := painted(t, s, "c1"), painted(t, s, "c2")
	if p2p == 0 || coll == 0 {
		t.Fatalf("%d pixels of point to point, %d of collectives", p2p, coll)
	}
	click("point to point", "")
	if n := painted(t, s, "c1"); n != 0 || eval[string](t, s, button("point to point")+".ariaPressed") != "false" || !strings.Contains(look(t, s).Hash, "hide=1") {
		t.Errorf("hidden, point to point has %d pixels of %d; the address ends in %s", n, p2p, look(t, s).Hash)
	}
	if n := painted(t, s, "c2"); n != coll {
		t.Errorf("collectives have %d pixels then, %d before", n, coll)
	}
	click("point to point", "")
	if n := painted(t, s, "c1"); n != p2p {
		t.Errorf("shown again it has %d pixels, %d before", n, p2p)
	}
	click("collective", "shiftKey: true")
	if n, m := painted(t, s, "c1"), painted(t, s, "c2"); n != 0 || m != coll {
		t.Errorf("alone, collectives have %d pixels of %d; point to point has %d", m, coll, n)
	}
	click("collective", "shiftKey: true")
	must(t, s.Do("[...document.querySelectorAll('#panel td button, #panel th button')].find((b) => b.innerText.startsWith('MPI_Allreduce')).click()"))
	rest(t, s)
	if n, m := painted(t, s, "c1"), painted(t, s, "c2"); n != 0 || m == 0 || !strings.Contains(look(t, s).Hash, "fn=") {
		t.Errorf("with MPI_Allreduce alone in its colour, point to point has %d pixels, collectives have %d", n, m)
	}
	click("only MPI_Allreduce", "")
	if n := painted(t, s, "c1"); n != p2p {
		t.Errorf("then point to point has %d pixels, %d before", n, p2p)
	}
	for _, key := range []string{"w", "d", "l", "l", "0"} {
		press(t, s, key)
		if now := tool(t, s); now != where {
			t.Errorf("after %s the toolbar is at %v, before at %v", key, now, where)
		}
	}
	clean(t, s)
}

// TestMessagesDrawn hovers, clicks and filters messages, at the places where they are drawn.
func TestMessagesDrawn(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "t=1000000..1100000")
	// The middle of an arrow that has no other one near it.
	const free = `(() => {
		const {timeline} = coppice, b = timeline.canvas.getBoundingClientRect();
		for (const [x0, y0, x1, y1, k] of timeline.arrows.drawn) {
			for (const part of [0.5, 0.3, 0.7]) {
				const x = x0 + part * (x1 - x0), y = y0 + part * (y1 - y0);
				if (x > timeline.box.x + 5 && x < timeline.box.x + timeline.box.w - 5 && timeline.arrows.at(x, y) === k &&
					[[4, 0], [-4, 0], [0, 4], [0, -4]].every(([dx, dy]) => [k, -1].includes(timeline.arrows.at(x + dx, y + dy)))) return [b.x + x, b.y + y, k];
			}
		}
		return [];
	})()`
	at := eval[[]float64](t, s, free)
	if len(at) != 3 {
		t.Fatal("no message is free of others")
	}
	must(t, s.Hover(at[0], at[1]))
	rest(t, s)
	tip := eval[string](t, s, "document.getElementById('tip').innerText")
	want := eval[string](t, s, fmt.Sprintf("(() => { const l = coppice.overlays.messages.list, k = %g; return `rank ${l.from[k]} to rank ${l.to[k]}`; })()", at[2]))
	if !strings.Contains(tip, "message, "+want) || !strings.Contains(tip, "B") {
		t.Errorf("over a message from %s the tip says %q", want, tip)
	}
	must(t, s.Click(at[0], at[1]))
	rest(t, s)
	if from := eval[int](t, s, fmt.Sprintf("coppice.overlays.messages.list.from[%g]", at[2])); look(t, s).Sel == nil || look(t, s).Sel.Row != from {
		t.Errorf("a click on a message from %s selects %+v", want, look(t, s).Sel)
	}
	all := eval[int](t, s, "coppice.timeline.arrows.drawn.length")
	turn(t, s, "t=1000000..1100000&msg=late")
	late := eval[int](t, s, "coppice.timeline.arrows.drawn.length")
	if n := eval[int](t, s, "coppice.overlays.messages.list.wait.filter((w) => w > 0).length"); late != n || late == 0 || late >= all {
		t.Errorf("%d of %d messages were waited for, %d are drawn", n, all, late)
	}
	turn(t, s, "t=1000000..1100000&msg=row&at=3:1050000")
	if n, m := eval[int](t, s, "coppice.timeline.arrows.drawn.length"), eval[int](t, s, "coppice.overlays.messages.list.from.filter((f, k) => f === 3 || coppice.overlays.messages.list.to[k] === 3).length"); n != m || n == 0 || n >= all {
		t.Errorf("%d messages of rank 3 are drawn, there are %d", n, m)
	}
	// Of a window with more messages than can be drawn, those waited for longest are, and those of a row.
	turn(t, s, "off=wcf")
	if !eval[bool](t, s, "coppice.overlays.messages.truncated") {
		t.Fatal("the whole run has few messages")
	}
	turn(t, s, "off=wcf&msg=late")
	waits := eval[[]float64](t, s, "coppice.ask('messages', {only: 'late', max: 2000}).then((m) => [m.list.from.length, m.total, Math.min(...m.list.wait)])")
	if n := eval[float64](t, s, "coppice.timeline.arrows.drawn.length"); n != waits[0] || n < 10 || waits[2] <= 0 {
		t.Errorf("%g late messages are drawn, want %v", n, waits)
	}
	turn(t, s, "off=wcf&msg=row&at=3:1050000&t=1000000..2000000")
	if n, m := eval[int](t, s, "coppice.timeline.arrows.drawn.length"), eval[int](t, s, "coppice.ask('messages', {t: '1000000..2000000', ranks: '3', max: 2000}).then((m) => m.list.from.length)"); n != m || n < 10 {
		t.Errorf("%d messages of rank 3 are drawn of %d", n, m)
	}
	clean(t, s)
}

// TestCalls goes down a flame graph of a window and back up; the table has the sums of the same paths.
func TestCalls(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "t=1000000..2000000&tab=calls")
	text := func() string { return eval[string](t, s, "document.getElementById('panel').innerText") }
	for _, want := range []string{"call paths of the visible window", "main", "timestep", "MPI_Allreduce", "waiting"} {
		if !strings.Contains(text(), want) {
			t.Errorf("the panel does not say %q:\n%s", want, text())
		}
	}
	// main is open all the time on all ranks.
	if v := eval[[2]float64](t, s, "coppice.ask('calltree', {t: '1000000..2000000', ranks: ''}).then((a) => [a.nodes[0].inclusive, a.nodes.filter((n) => n.parent === 0).reduce((sum, n) => sum + n.inclusive, a.nodes[0].exclusive)])"); v[0] != 16e6 || v[1] != v[0] {
		t.Errorf("main takes %g ticks of 16 ranks in a window of 1000000, its parts %g", v[0], v[1])
	}
	at := eval[[2]float64](t, s, "(() => { const b = document.querySelector('#panel canvas').getBoundingClientRect(); return [b.x + 5, b.y + 27]; })()")
	must(t, s.Click(at[0], at[1]))
	rest(t, s)
	if !strings.Contains(text(), "by rank") || !strings.Contains(text(), "of main › ") || eval[string](t, s, "document.querySelector('#panel td').innerText") != "100.0%" {
		t.Errorf("a click on the second row of the graph shows\n%s", text())
	}
	must(t, s.Do("[...document.querySelectorAll('#panel button')].find((b) => b.innerText === 'all calls').click()"))
	must(t, s.Do("const c = document.querySelector('#panel select'); c.value = 'waits'; c.dispatchEvent(new Event('change'))"))
	rest(t, s)
	if text := text(); strings.Contains(text, "by rank") || !strings.Contains(text, "main") {
		t.Errorf("by waiting, from the top, the panel says\n%s", text)
	}
	clean(t, s)
}

// TestOrder sorts rows by what their processes do, and hides some: what is drawn, clicked and asked for is about the row that is there.
func TestOrder(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "t=1000000..3000000&by=wait&off=mc&tab=statistics")
	list := eval[[]int](t, s, "coppice.order.list")
	waits := eval[[]float64](t, s, "coppice.ask('profile', {t: '1000000..3000000', columns: 1000, ranks: ''}).then((p) => p.wait.map(Number))")
	if len(list) != 16 || len(waits) != 16 {
		t.Fatalf("%d rows of %d ranks", len(list), len(waits))
	}
	for k := 1; k < len(list); k++ {
		if waits[list[k]] > waits[list[k-1]] {
			t.Errorf("place %d has rank %d, which waits %g, after rank %d with %g", k, list[k], waits[list[k]], list[k-1], waits[list[k-1]])
		}
	}
	at := eval[[2]float64](t, s, "(() => { const b = coppice.timeline.canvas.getBoundingClientRect(); return [b.x + coppice.timeline.x(2000000), b.y + coppice.timeline.y(0.5)]; })()")
	must(t, s.Click(at[0], at[1]))
	rest(t, s)
	w := look(t, s)
	if w.Sel == nil || w.Sel.Row != list[0] {
		t.Errorf("a click on the first row, of rank %d, selects %+v", list[0], w.Sel)
	}
	if w = press(t, s, kb.ArrowDown); w.Sel.Row != list[1] {
		t.Errorf("the row below is rank %d, want %d", w.Sel.Row, list[1])
	}
	// What is drawn in the second place is what the first run has in that row, drawn alone.
	const row = `(() => { const {box, canvas} = coppice.timeline, h = coppice.timeline.rowHeight();
		const {data} = canvas.getContext('2d').getImageData(box.x + 5, Math.round(box.y + %g * h + h / 2), 900, 1); return Array.from(data).join(); })()`
	turn(t, s, "t=1000000..3000000&by=wait&off=wmc&tab=statistics")
	ordered := eval[string](t, s, fmt.Sprintf(row, 1.0))
	turn(t, s, "t=1000000..3000000&off=wmc&tab=statistics")
	if plain := eval[string](t, s, fmt.Sprintf(row, float64(list[1]))); plain != ordered {
		t.Errorf("the second place does not look as row %d does", list[1])
	}
	turn(t, s, fmt.Sprintf("t=1000000..3000000&by=wait&tab=statistics&at=%d:2000000", list[1]))
	w = press(t, s, "h")
	if n := eval[int](t, s, "coppice.order.list.length"); n != 15 || eval[bool](t, s, fmt.Sprintf("coppice.order.list.includes(%d)", list[1])) || !strings.Contains(w.Hash, "gone=") {
		t.Errorf("with one hidden there are %d rows; the address ends in %s", n, w.Hash)
	}
	if text := eval[string](t, s, "document.getElementById('panel').innerText"); !strings.Contains(text, "15 processes in ") {
		t.Errorf("statistics are of others than the visible rows:\n%s", text)
	}
	w = press(t, s, "H")
	if w.Rows != [2]float64{0, 16} || eval[bool](t, s, "coppice.order.list !== null") {
		t.Errorf("Shift+h shows rows %v", w.Rows)
	}
	clean(t, s)
}

// TestRecorders opens a run of devices with 29 recorders of metrics: its rows of calls are shown, all rows where an address asks for them.
func TestRecorders(t *testing.T) {
	const archive = "../../../shared/traces/otf2/hip-mi300-scorep9"
	if _, err := os.Stat(archive); err != nil {
		t.Skip("no folder shared/traces next to the repository")
	}
	src, err := otf2.OpenPath(archive)
	must(t, err)
	s := started(t)
	_, address := page(t, nil, analyzedSource(t, src, "hip.xtf"))
	for fragment, want := range map[string]int{"": 3, "tab=waits": 32} {
		open(t, s, address, fragment)
		if got := eval[int](t, s, "coppice.order.list ? coppice.order.list.length : coppice.meta.locations"); got != want {
			t.Errorf("#%s: %d rows, want %d", fragment, got, want)
		}
	}
}

// TestFold draws a row for each group of ranks: the mean of its members, in their order; a click on its name shows them one by one.
func TestFold(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	const whole = "t=1000000..3000000&off=wmcf&tab=statistics"
	open(t, s, address, whole+"&by=class&fold=1")
	type group struct {
		Name    string
		Members []int
	}
	groups := eval[[]group](t, s, "coppice.order.groups.map((g) => ({Name: g.name, Members: g.members}))")
	members := 0
	for _, g := range groups {
		members += len(g.Members)
		for _, m := range g.Members {
			if class := eval[int](t, s, fmt.Sprintf("coppice.names.of(%d).class", m)); !strings.HasPrefix(g.Name, fmt.Sprintf("class %d (", class)) {
				t.Errorf("rank %d of class %d is in %q", m, class, g.Name)
			}
		}
	}
	if members != 16 || len(groups) < 2 || look(t, s).Rows != [2]float64{0, float64(len(groups))} {
		t.Fatalf("%d ranks in groups %v, rows %v", members, groups, look(t, s).Rows)
	}
	// The first row, against the mean of its members' own tiles.
	const share = `(() => {
		const {used} = coppice.timeline;
		const x = Math.floor(2000000 / used.tiles.width(used.z)), mine = used.tiles.peek(used.z, x, 0, 0);
		const base = coppice.tiles.peek(used.z, x, 0, 0), list = coppice.order.groups[0].members;
		let worst = 0, cells = 0;
		for (let s = 0; s < 8; s++) for (let b = 0; b < 512; b++) {
			const mean = list.reduce((sum, l) => sum + base.share[s * base.rows * 512 + l * 512 + b], 0) / list.length;
			worst = Math.max(worst, Math.abs(mean - mine.share[s * mine.rows * 512 + b]));
			cells += mean > 0;
		}
		return [worst, cells, used.tiles === coppice.order.folded.tiles ? 1 : 0];
	})()`
	if v := eval[[3]float64](t, s, share); v[0] > 0.5 || v[1] < 100 || v[2] != 1 {
		t.Errorf("a group's cells differ from the mean of its members by %g of 255, in %g cells; drawn: %g", v[0], v[1], v[2])
	}
	at := eval[[2]float64](t, s, "(() => { const b = coppice.timeline.canvas.getBoundingClientRect(); return [b.x + 30, b.y + coppice.timeline.y(0.5)]; })()")
	must(t, s.Click(at[0], at[1]))
	rest(t, s)
	rest(t, s)
	if w := look(t, s); w.Rows != [2]float64{0, float64(len(groups[0].Members))} || strings.Contains(w.Hash, "fold=1") || eval[int](t, s, "coppice.order.at(0)") != groups[0].Members[0] {
		t.Errorf("a click on the first of %v shows rows %v of %s", groups, w.Rows, w.Hash)
	}
	// Any item, and any function, can order the rows.
	for _, c := range []struct{ fragment, values string }{
		{"&by=bytes_out", "coppice.ask('profile', {t: '1000000..3000000', columns: 1000, ranks: '', item: 'bytes_out'}).then((p) => p.values.map(Number))"},
		{"&by=f2&fn=2", "coppice.ask('profile', {t: '1000000..3000000', columns: 1000, ranks: '', region: '2'}).then((p) => p.values.map(Number))"},
	} {
		turn(t, s, whole+c.fragment)
		rest(t, s)
		list, values := eval[[]int](t, s, "coppice.order.list"), eval[[]float64](t, s, c.values)
		for k := 1; k < len(list); k++ {
			if values[list[k]] > values[list[k-1]] {
				t.Errorf("%s: place %d has rank %d with %g, after %g", c.fragment, k, list[k], values[list[k]], values[list[k-1]])
			}
		}
		if len(list) != 16 || eval[string](t, s, "coppice.order.choice.selectedOptions[0].text") == "" {
			t.Errorf("%s: %d rows, by %q", c.fragment, len(list), eval[string](t, s, "coppice.order.choice.selectedOptions[0].text"))
		}
	}
	turn(t, s, whole)
	rest(t, s)
	if label := eval[string](t, s, "coppice.order.label(0)"); label != "rank 0" {
		t.Errorf("as recorded, the first row is called %q", label)
	}
	clean(t, s)
}

// TestFileLanes draws when processes are in operations on files, and tells about them.
func TestFileLanes(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "off=wmc")
	n := eval[int](t, s, "coppice.files.list().length")
	if n == 0 || eval[int](t, s, "coppice.files.lane()") != 13*n {
		t.Fatalf("%d files", n)
	}
	const drawn = `(() => {
		const {canvas, box, filesY} = coppice.timeline, {begin, bin_ticks} = coppice.overlays.files;
		const busy = coppice.files.list()[0].busy, k = busy.indexOf(Math.max(...busy));
		const at = [coppice.timeline.x(begin + (k + 0.5) * bin_ticks), filesY + 11.5], b = canvas.getBoundingClientRect();
		const [red, green, blue] = canvas.getContext('2d').getImageData(...at, 1, 1).data;
		return [red, green, blue, b.x + at[0], b.y + at[1]];
	})()`
	v := eval[[5]float64](t, s, drawn)
	if v[0] < 150 || v[2] > 40 {
		t.Errorf("at its busiest time a file's lane has the colour %v", v[:3])
	}
	must(t, s.Hover(v[3], v[4]))
	rest(t, s)
	name := eval[string](t, s, "coppice.files.list()[0].name")
	if tip := eval[string](t, s, "document.getElementById('tip').innerText"); !strings.Contains(tip, name) || !strings.Contains(tip, "operations in progress here") {
		t.Errorf("over the lane of %s the tip says %q", name, tip)
	}
	turn(t, s, "off=wmcf")
	if eval[int](t, s, "coppice.files.lane()") != 0 {
		t.Error("switched off, the lanes stay")
	}
	clean(t, s)
}

// TestCounterLane draws the readings of the chosen counter above the rows, those of the selected row.
func TestCounterLane(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "t=1000000..3000000&tab=counters&off=wmc&at=3:2000000")
	if n := eval[int](t, s, "coppice.counters.lane()"); n != 0 {
		t.Errorf("without a chosen counter the lane is %d pixels high", n)
	}
	must(t, s.Do("[...document.querySelectorAll('#panel button')].find((b) => b.innerText === 'show it above the timeline').click()"))
	rest(t, s)
	const drawn = `(() => {
		const {canvas, box, counterY} = coppice.timeline, v = coppice.overlays['counter 0 3'];
		const {data} = canvas.getContext('2d').getImageData(box.x, counterY, box.w, coppice.counters.lane());
		const columns = new Set();
		for (let k = 0; k < data.length; k += 4) if (Math.abs(data[k]) < 40 && Math.abs(data[k + 2] - 178) < 40) columns.add(k / 4 % box.w);
		return [columns.size / box.w, v ? v.mean.filter((x) => x !== null).length : -1, v ? v.location : -1];
	})()`
	if v := eval[[3]float64](t, s, drawn); v[0] < 0.8 || v[1] < 10 || v[2] != 3 || !strings.Contains(look(t, s).Hash, "counter=0") {
		t.Errorf("%g of the lane's width has a curve, of %g bins with readings of row %g", v[0], v[1], v[2])
	}
	clean(t, s)
}

// TestTip: the tip is about what is under it after zooms, and about the selection where keys moved that.
func TestTip(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "t=1000000..3000000&off=m")
	b := eval[[2]float64](t, s, "(() => { const b = coppice.timeline.canvas.getBoundingClientRect(); return [b.x + coppice.timeline.x(2000000), b.y + coppice.timeline.y(5.5)]; })()")
	must(t, s.Hover(b[0], b[1]))
	text := func() string { return eval[string](t, s, "document.getElementById('tip').innerText") }
	rest(t, s)
	if !strings.HasPrefix(text(), "rank 5 ") {
		t.Errorf("over rank 5 the tip says %q", text())
	}
	press(t, s, "d")
	if got, want := text(), eval[string](t, s, "coppice.clock.at(coppice.timeline.timeAt(coppice.pointer.at.x), (coppice.state.t[1] - coppice.state.t[0]) / 1000)"); !strings.Contains(got, want) {
		t.Errorf("after a pan to %s the tip says %q", want, got)
	}
	press(t, s, kb.ArrowDown)
	press(t, s, kb.ArrowDown)
	w := press(t, s, kb.ArrowRight)
	if !strings.HasPrefix(text(), fmt.Sprintf("rank %d ", w.Sel.Row)) || !strings.Contains(text(), w.Call) {
		t.Errorf("keys select %+v %s, the tip says %q", w.Sel, w.Call, text())
	}
	clean(t, s)
}
