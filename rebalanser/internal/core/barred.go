package core

// addBarred adds the barred members of ms that a shard names.
func (c *Coordinator) addBarred(ms []Member) {
	barred := map[string]Member{}
	for _, m := range ms {
		if m.Barred {
			barred[m.Client] = m
		}
	}
	for key, s := range c.current {
		m, is := barred[s.Client]
		if _, taken := c.members[key]; is && !taken {
			m.Key = key
			c.members[key] = m
		}
	}
}
