// Package readers reads what package export writes with the readers of others: Parquet and Arrow with Apache's own
// library, Perfetto's protobuf with the protobuf runtime and the published field numbers and types.
//
// It is a module of its own, so that coppice does not depend on these libraries, nor compiles them in its checks.
package readers
