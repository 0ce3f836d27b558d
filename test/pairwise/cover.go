// SPDX-License-Identifier: Apache-2.0

// Package pairwise finds few combinations of many options that contain every possible pair of
// values, since most defects have at most two causes. Its tests send the objects of these
// combinations of a plugin's options to an API server.
//
// Cover does not know what an option means.
package pairwise

import "slices"

// Dimension is one option.
type Dimension struct {
	Name string
	// Values are its values; the first is the default.
	Values []string
}

// Row is a combination: for each dimension, the index of a value.
type Row []int

// Pair are two values of different dimensions, by their indices.
type Pair struct{ D1, V1, D2, V2 int }

func (p Pair) in(row Row) bool { return row[p.D1] == p.V1 && row[p.D2] == p.V2 }

// with returns a copy of the row that has the pair.
func (p Pair) with(row Row) Row {
	changed := slices.Clone(row)
	changed[p.D1], changed[p.D2] = p.V1, p.V2
	return changed
}

// Cover returns valid rows that contain as many pairs as possible, and the pairs for which it
// found no valid row. It returns the same for the same arguments if valid does.
func Cover(dimensions []Dimension, valid func(Row) bool) (rows []Row, alone []Pair) {
	c := &cover{dimensions: dimensions, valid: valid, left: map[Pair]bool{}}
	pairs := c.pairs()
	for _, pair := range pairs {
		c.left[pair] = true
	}
	// The second pass looks for the remaining pairs in the rows that the first has found.
	for _, pass := range []func(Pair) Row{c.near, c.among} {
		for _, pair := range pairs {
			if !c.left[pair] {
				continue
			}
			if row := pass(pair); row != nil {
				c.accept(c.extend(row, pair))
			}
		}
	}
	for _, pair := range pairs {
		if c.left[pair] {
			alone = append(alone, pair)
		}
	}
	return c.rows, alone
}

type cover struct {
	dimensions []Dimension
	valid      func(Row) bool
	left       map[Pair]bool
	rows       []Row
}

func (c *cover) pairs() []Pair {
	var pairs []Pair
	for d1 := range c.dimensions {
		for d2 := d1 + 1; d2 < len(c.dimensions); d2++ {
			for v1 := range c.dimensions[d1].Values {
				for v2 := range c.dimensions[d2].Values {
					pairs = append(pairs, Pair{d1, v1, d2, v2})
				}
			}
		}
	}
	return pairs
}

// near looks for a valid row with the pair in which at most one other value is not the
// default.
func (c *cover) near(pair Pair) Row {
	row := pair.with(make(Row, len(c.dimensions)))
	if c.valid(row) {
		return row
	}
	for d, dimension := range c.dimensions {
		if d == pair.D1 || d == pair.D2 {
			continue
		}
		for v := 1; v < len(dimension.Values); v++ {
			if row[d] = v; c.valid(row) {
				return row
			}
		}
		row[d] = 0
	}
	return nil
}

// among looks for a row with one value of the pair that is still valid with the other value.
func (c *cover) among(pair Pair) Row {
	for _, row := range c.rows {
		if row[pair.D1] != pair.V1 && row[pair.D2] != pair.V2 {
			continue
		}
		if changed := pair.with(row); c.valid(changed) {
			return changed
		}
	}
	return nil
}

// extend changes a valid row to contain as many more pairs as it can. The row stays valid.
func (c *cover) extend(row Row, pair Pair) Row {
	for d, dimension := range c.dimensions {
		if d == pair.D1 || d == pair.D2 {
			continue
		}
		was := row[d]
		gains := make([]int, len(dimension.Values))
		order := make([]int, len(dimension.Values))
		for v := range dimension.Values {
			row[d] = v
			gains[v], order[v] = c.gain(row, d), v
		}
		slices.SortStableFunc(order, func(a, b int) int { return gains[b] - gains[a] })
		for _, v := range order {
			row[d] = v
			if v == was || c.valid(row) {
				break
			}
		}
	}
	return row
}

// gain counts the pairs of dimension d that the row has and no earlier row had.
func (c *cover) gain(row Row, d int) int {
	count := 0
	for other := range row {
		if other != d && c.left[pairOf(row, d, other)] {
			count++
		}
	}
	return count
}

func pairOf(row Row, d1, d2 int) Pair {
	if d1 > d2 {
		d1, d2 = d2, d1
	}
	return Pair{d1, row[d1], d2, row[d2]}
}

func (c *cover) accept(row Row) {
	for d1 := range row {
		for d2 := d1 + 1; d2 < len(row); d2++ {
			delete(c.left, pairOf(row, d1, d2))
		}
	}
	c.rows = append(c.rows, slices.Clone(row))
}
