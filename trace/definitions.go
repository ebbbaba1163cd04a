package trace

// Record is one definition record.
type Record interface {
	Visit(v Visitor)
}

func add[T any, R interface {
	*T
	Record
}](list *[]T, v T) R {
	*list = append(*list, v)
	return R(&(*list)[len(*list)-1])
}

func each[T any, R interface {
	*T
	Record
}](k DefKind, list []T, f func(DefKind, Record)) {
	for i := range list {
		f(k, R(&list[i]))
	}
}
