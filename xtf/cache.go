package xtf

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// page is a verified page in memory. Its bytes never change. Its rows are decoded at the first use.
type page struct {
	header
	bytes  []byte   // payload
	keys   keyBlock // packed data pages
	key0   int64    // offset in the file, 0 outside the cache
	region *region  // set if this is a region head, which the cache keeps as a page

	once sync.Mutex
	rows atomic.Pointer[[]byte] // decoded rows

	used atomic.Bool            // a lookup has read the page through its slot since evict saw it last
	kids []atomic.Pointer[page] // slots of the data pages below an index page of level 1
}

// place describes the page that is expected at an offset.
type place struct {
	header                        // identity: kind, level, typ, proc, ordinal
	vouched bool                  // crc is the checksum in the parent
	slot    *atomic.Pointer[page] // where lookups find the page; nil: nowhere
}

// fits returns whether the page is the one that is expected. In a damaged file an offset may lead to another page.
func (p *page) fits(w *place) bool {
	return p.region == nil && p.kind == w.kind && p.level == w.level && p.typ == w.typ && p.proc == w.proc &&
		p.ordinal == w.ordinal && (!w.vouched || p.crc == w.crc)
}

// resident returns the page in a slot without a lock, or nil. Only pages that fit their place are put into slots.
func resident(slot *atomic.Pointer[page]) *page {
	if slot == nil {
		return nil
	}
	p := slot.Load()
	if p != nil && !p.used.Load() {
		p.used.Store(true)
	}
	return p
}

// cacheEntry is a page in the cache, or one that is being loaded.
type cacheEntry struct {
	key   int64 // offset in the file
	page  *page
	slot  *atomic.Pointer[page] // holds page while it is in the cache
	err   error
	ready chan struct{} // closed when page or err is set
	cost  int64
	index bool
	at    *list.Element // in the list of its kind
}

// lru is a list of entries. The most recently used one is first.
type lru struct {
	list.List
	cost int64
}

// cacheShard has a part of the cache's pages. Index pages and region heads are in a list of their own with half of the budget, so that a
// scan of data pages cannot evict them.
type cacheShard struct {
	mu     sync.Mutex
	items  map[int64]*cacheEntry
	data   lru
	index  lru
	budget int64
}

// cache is a sharded LRU of verified pages with a budget in bytes. A page is loaded once at a time. A page in the cache is also in the slot
// of its place, where lookups find it without the lock of the shard. Such a lookup marks the page, and evict passes over a marked page
// once.
type cache struct {
	shards []cacheShard
}

const (
	defaultCache = 64 << 20
	entryCost    = 256 // bytes of bookkeeping for each page
)

// CacheBytes returns the budget of the file's page cache.
func (f *File) CacheBytes() int64 { return int64(len(f.cache.shards)) * f.cache.shards[0].budget }

func newCache(budget int64) *cache {
	if budget <= 0 {
		budget = defaultCache
	}
	n := int64(1)
	for n < 16 && budget/(2*n) >= 4<<20 {
		n *= 2
	}
	c := &cache{shards: make([]cacheShard, n)}
	for i := range c.shards {
		s := &c.shards[i]
		s.items = make(map[int64]*cacheEntry)
		s.budget = budget / n
	}
	return c
}

func (c *cache) shard(key int64) *cacheShard {
	h := uint64(key) * 0x9e3779b97f4a7c15 >> 32
	return &c.shards[h&uint64(len(c.shards)-1)]
}

// get returns the page at offset key. If it is not in the cache, it calls load. hit is true if this call has not read it. The page may not
// fit the place; the caller checks that.
func (c *cache) get(key int64, at place, load func() (*page, error)) (p *page, hit bool, err error) {
	s := c.shard(key)
	s.mu.Lock()
	if e := s.items[key]; e != nil {
		if e.ready == nil {
			s.list(e).MoveToFront(e.at)
			e.enterSlot(&at)
			s.mu.Unlock()
			return e.page, true, nil
		}
		ready := e.ready
		s.mu.Unlock()
		<-ready
		return e.page, true, e.err
	}
	e := &cacheEntry{key: key, index: at.kind != pageData, ready: make(chan struct{})}
	s.items[key] = e
	s.mu.Unlock()
	return c.fill(s, e, &at, load)
}

// enterSlot puts the page into the slot of a place that it fits. The caller holds the lock.
func (e *cacheEntry) enterSlot(at *place) {
	if at.slot == nil || e.slot == at.slot || !e.page.fits(at) {
		return
	}
	e.leaveSlot()
	e.slot = at.slot
	e.slot.Store(e.page)
}

// leaveSlot empties the slot of the entry. The caller holds the lock.
func (e *cacheEntry) leaveSlot() {
	if e.slot != nil {
		e.slot.Store(nil)
		e.slot = nil
	}
}

// fill loads an entry that is in the map already. If load fails or panics, the entry is removed.
func (c *cache) fill(s *cacheShard, e *cacheEntry, at *place, load func() (*page, error)) (*page, bool, error) {
	done := false
	defer func() {
		s.mu.Lock()
		ready := e.ready
		if done && e.err == nil {
			e.ready = nil
			e.cost = int64(len(e.page.bytes)) + 8*int64(len(e.page.kids)) + entryCost
			if e.page.region != nil {
				e.cost += e.page.region.memory()
			}
			if rows := e.page.rows.Load(); rows != nil {
				e.cost += int64(len(*rows))
			}
			e.enterSlot(at)
			s.insert(e)
		} else {
			delete(s.items, e.key)
			if e.err == nil {
				e.err = corrupt("page load did not finish")
			}
		}
		s.mu.Unlock()
		close(ready)
	}()
	e.page, e.err = load()
	done = true
	return e.page, false, e.err
}

func (s *cacheShard) list(e *cacheEntry) *lru {
	if e.index {
		return &s.index
	}
	return &s.data
}

func (s *cacheShard) insert(e *cacheEntry) {
	l := s.list(e)
	e.at = l.PushFront(e)
	l.cost += e.cost
	s.evict(e)
}

// evict removes pages until the budget is kept, but never keep. Each of the two lists may use what the other leaves, and always half of the
// budget.
func (s *cacheShard) evict(keep *cacheEntry) {
	spared := 0 // marked pages that were passed over; bounded, since readers may mark them again
	for s.data.cost+s.index.cost > s.budget {
		l := &s.data
		if s.data.cost <= s.budget/2 && s.index.cost > s.budget/2 {
			l = &s.index
		}
		last := l.Back()
		if last == nil || last.Value == keep && l.Len() == 1 {
			return
		}
		e := last.Value.(*cacheEntry)
		if e == keep || (spared < len(s.items) && e.page.used.CompareAndSwap(true, false)) {
			l.MoveToFront(last)
			spared++
			continue
		}
		l.Remove(last)
		e.leaveSlot()
		l.cost -= e.cost
		delete(s.items, e.key)
	}
}

// grow adds n bytes to the cost of a page that was decoded.
func (c *cache) grow(key int64, p *page, n int64) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.items[key]; e != nil && e.ready == nil && e.page == p {
		e.cost += n
		s.list(e).cost += n
		s.evict(e)
	}
}
