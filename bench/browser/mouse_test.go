package browser_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/coppice-hpc/coppice/bench/browser"
)

// point is where something is on the page.
type point struct{ X, Y float64 }

// TestMouse drags, clicks and scrolls on the timeline and the strip above it.
func TestMouse(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "t=1000000..1400000")
	at := func(tick, row float64) point {
		return eval[point](t, s, fmt.Sprintf(`(() => {
			const b = coppice.timeline.canvas.getBoundingClientRect();
			return {X: b.x + coppice.timeline.x(%g), Y: b.y + coppice.timeline.y(%g)};
		})()`, tick, row))
	}
	rest := func() window {
		must(t, s.Do("coppice.schedule()"))
		must(t, s.Wait(browser.Ready))
		return look(t, s)
	}
	p := at(1060000, 3.5)
	must(t, s.Click(p.X, p.Y))
	w := rest()
	if w.Sel == nil || w.Sel.Row != 3 || math.Abs(w.Sel.T-1060000) > 1000 || w.Call == "" {
		t.Errorf("a click selects %+v %q", w.Sel, w.Call)
	}
	from, to := at(1100000, 5), at(1200000, 5)
	must(t, s.Drag(from.X, from.Y, to.X, to.Y))
	w = rest()
	if math.Abs(w.T[0]-1100000) > 1000 || math.Abs(w.T[1]-1200000) > 1000 {
		t.Errorf("a drag from 1100000 to 1200000 shows %v", w.T)
	}
	wheel := func(options string) {
		t.Helper()
		p := at(1150000, 8)
		must(t, s.Do(fmt.Sprintf(`(() => {
			const b = coppice.timeline.canvas.getBoundingClientRect();
			coppice.timeline.canvas.dispatchEvent(new WheelEvent('wheel', {clientX: %g, clientY: %g, bubbles: true, cancelable: true, %s}));
		})()`, p.X, p.Y, options)))
	}
	wheel("deltaY: -120, ctrlKey: true")
	zoomed := rest()
	if math.Abs((zoomed.T[1]-zoomed.T[0])/(w.T[1]-w.T[0])-math.Exp(-120.0/250)) > 0.01 {
		t.Errorf("Ctrl and the wheel make %v of %v", zoomed.T, w.T)
	}
	press(t, s, "W")
	before := look(t, s)
	wheel("deltaY: 60")
	if w = rest(); w.Rows[0] <= before.Rows[0] || w.Rows[1] > 16 {
		t.Errorf("the wheel makes rows %v of %v", w.Rows, before.Rows)
	}
	b := eval[[]float64](t, s, "(() => { const b = document.getElementById('overview').getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()")
	must(t, s.Drag(b[0]+b[2]/2, b[1]+b[3]/2, b[0]+b[2]*3/4, b[1]+b[3]/2))
	if w = rest(); math.Abs(w.T[0]/6762085-0.5) > 0.01 || math.Abs(w.T[1]/6762085-0.75) > 0.01 {
		t.Errorf("a brush over the third quarter shows %v", w.T)
	}
	clean(t, s)
}
