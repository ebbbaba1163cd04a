package table

// Shortened cuts a text that is too long.
func Shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n-3] + "..."
}
