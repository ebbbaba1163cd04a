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

// plain reads an unsigned number as a Value. The counts of a library are less than 2^63.
func (b *body) plain() int64 {
	v := b.varint()
	if v >= 1<<63 {
		b.fail("the number %d", v)
	}
	return int64(v)
}

// forms are the numbers of outputs that hold nothing else, by kind: v is plain, z zig-zag.
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

// payload reads where a payload is, and passes it.
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
