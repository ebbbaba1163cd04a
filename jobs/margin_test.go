package jobs

// EndMargin is for tests.
const EndMargin = endMargin
