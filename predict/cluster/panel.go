package cluster

// keep reads the vectors of the points of this rank into memory, if they take at most a quarter of what there is.
func (j *job) keep() error {
	var err error
	if n := uint64(len(j.own)); n > 0 && j.dim > 0 && j.dim <= uint64(j.o.Memory)/4/8/n {
		kept := make([]int64, n*j.dim)
		for from := uint64(0); from < j.dim && err == nil; from += surveyPiece {
			width := min(surveyPiece, j.dim-from)
			for i := uint64(0); i < n && err == nil; i++ {
				_, err = j.read(int(j.own[i].member), from, kept[i*j.dim+from:][:width])
			}
		}
		j.kept = kept
	}
	return j.agree(err)
}

// entries sets dst to the entries from on of an own point.
func (j *job) entries(local int32, from uint64, dst []int64) error {
	if j.kept != nil {
		copy(dst, j.kept[uint64(local)*j.dim+from:])
		return nil
	}
	_, err := j.read(int(j.own[local].member), from, dst)
	return err
}

// plan says which points' vectors a rank needs for a step of the work. Vectors travel in panels of width entries.
type plan struct {
	send  [][]int32 // to each rank: own points, in the order of the receiver's rows
	recv  [][]int32 // from each rank: rows here, in the order in which they come
	rows  int       // points needed here
	width int
}

// newPlan makes the plan for the points of list, point list[i] on rank dest[i]; there its row is the number of points
// before it that go there too. All ranks call it with the same lists. A panel takes an eighth of the memory, as rows and
// again as messages.
func (j *job) newPlan(list, dest []int32) *plan {
	p := &plan{send: make([][]int32, j.size), recv: make([][]int32, j.size)}
	in, out := make([]int, j.size), make([]int, j.size)
	for i, k := range list {
		pt, to := &j.pts[k], dest[i]
		if int(pt.rank) == j.rank {
			p.send[to] = append(p.send[to], pt.local)
		}
		if int(to) == j.rank {
			p.recv[pt.rank] = append(p.recv[pt.rank], int32(p.rows))
			p.rows++
		}
		in[to]++
		out[pt.rank]++
	}
	most := 1
	for r := range in {
		most = max(most, in[r], out[r])
	}
	p.width = int(max(1, min(j.dim, uint64(j.o.Memory)/8/8/uint64(most))))
	return p
}

// panel sets data, rows of width entries, to the entries from on of the points of the plan. Collective.
func (j *job) panel(p *plan, from uint64, width int, data []int64) error {
	parts := make([][]byte, j.size)
	buf := make([]int64, width)
	err := j.ctx.Err()
	for to, list := range p.send {
		if to == j.rank {
			for i := 0; i < len(list) && err == nil; i++ {
				row := int(p.recv[to][i])
				err = j.entries(list[i], from, data[row*width:(row+1)*width])
			}
			continue
		}
		parts[to] = make([]byte, 0, len(list)*8*width)
		for i := 0; i < len(list) && err == nil; i++ {
			if err = j.entries(list[i], from, buf); err == nil {
				parts[to] = putEntries(parts[to], buf)
			}
		}
	}
	if err = j.agree(err); err != nil || j.size == 1 {
		return err
	}
	got, err := j.c.Alltoall(parts)
	if err != nil {
		return err
	}
	for rank, rows := range p.recv {
		if rank == j.rank {
			continue
		}
		if len(got[rank]) != len(rows)*8*width {
			err = errMessage("panel")
			break
		}
		for i, row := range rows {
			_ = readEntries(got[rank][i*8*width:(i+1)*8*width], data[int(row)*width:(int(row)+1)*width])
		}
	}
	return j.agree(err)
}

// panels calls f for each panel of the plan, with its rows. Collective.
func (j *job) panels(p *plan, f func(r rows) error) error {
	data := make([]int64, p.rows*p.width)
	for from := uint64(0); from < j.dim; from += uint64(p.width) {
		width := int(min(uint64(p.width), j.dim-from))
		if err := j.panel(p, from, width, data); err != nil {
			return err
		}
		if err := f(newRows(data[:p.rows*width], p.rows, width)); err != nil {
			return err
		}
	}
	return nil
}
