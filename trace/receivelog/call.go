package receivelog

func (c *Call) inputs(b *body) {
	if c.Checked = b.byte(); c.Checked >= 1<<7 {
		b.fail("call %d: inputs %#x", c.Number, c.Checked)
	}
	for i := range c.Inputs {
		switch bit := byte(1) << i; {
		case c.Checked&bit == 0:
		case bit&(Bytes|Communicator|Requests) != 0:
			c.Inputs[i] = b.plain()
		default:
			c.Inputs[i] = b.zigzag()
		}
	}
}

// plain reads an unsigned number into the form that Values have: the library's counts are less than 2^63.
func (b *body) plain() int64 {
	v := b.varint()
	if v >= 1<<63 {
		b.fail("the number %d", v)
	}
	return int64(v)
}

// forms are the numbers of the kinds of outputs that hold nothing else: v plain, z zig-zag.
var forms = [...]string{Int: "z", Comm: "vvvv", Object: "v", Request: "v", Status: "vzzzvv", Done: "vv", Real: ""}

func (b *body) output() (o Output) {
	o.Kind = Kind(b.byte())
	if o.Kind < Int || o.Kind > Real {
		b.fail("an output of kind %d", o.Kind)
		return o
	}
	o.Parameter = b.varint()
	switch o.Kind {
	case Ints:
		n := b.varint()
		if n > b.end-b.offset { // a byte each, at least
			b.fail("%d integers in a record with %d bytes left", n, b.end-b.offset)
		}
		for ; n > 0 && b.err == nil; n-- {
			o.Values = append(o.Values, b.zigzag())
		}
	case Data:
		o.Payload = b.payload()
	case Text:
		o.Text = b.text()
	case Real:
		o.Real = b.real()
	default:
		o.Values = make([]int64, len(forms[o.Kind]))
		for i, form := range forms[o.Kind] {
			if form == 'z' {
				o.Values[i] = b.zigzag()
			} else {
				o.Values[i] = b.plain()
			}
		}
	}
	return o
}

// payload reads where a payload is, and goes beyond it.
func (b *body) payload() Payload {
	begin := b.offset
	n, where := b.varint(), b.varint()
	if where == 0 {
		p := Payload{Bytes: n, Where: b.offset}
		b.take(n, nil)
		return p
	}
	if where > begin || n > begin-where {
		b.fail("a payload of %d bytes at %d, after its use at %d", n, where, begin)
	}
	return Payload{n, where, true}
}

// ReadPayload reads a payload that a call of this reader named, into p from byte at on; the blocks were checked when the
// reader passed them.
func (r *Reader) ReadPayload(d Payload, p []byte, at uint64) error {
	if uint64(len(p)) > d.Bytes || at > d.Bytes-uint64(len(p)) {
		return corrupt("bytes %d to %d of a payload of %d", at, at+uint64(len(p)), d.Bytes)
	}
	for from := d.Where + at; len(p) > 0; {
		n := min(uint64(len(p)), roomBytes-from%roomBytes)
		if _, err := r.s.file.ReadAt(p[:n], int64(from/roomBytes*blockBytes+headBytes+from%roomBytes)); err != nil {
			return err
		}
		p, from = p[n:], from+n
	}
	return nil
}
