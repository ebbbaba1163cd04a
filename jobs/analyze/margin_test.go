package analyze

// EndMargin is for tests.
const EndMargin = endMargin
