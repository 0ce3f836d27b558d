// SPDX-License-Identifier: Apache-2.0

package fielderror

import "strings"

// longestName is the length of a name that is worth a comparison.
const longestName = 40

// Nearest returns the one of the known names that an author who wrote name most likely
// meant, the first of several that are equally near, or nothing if none is near.
func Nearest(name string, known []string) string {
	if len(name) > longestName {
		return ""
	}
	written := plainName(name)
	best, nearest := "", 1+len(written)/4 // as many slips as go unnoticed in a word
	for _, each := range known {
		meant := plainName(each)
		if written == "" || meant == "" {
			continue
		}
		if slips := distance(written, meant, nearest); slips < nearest || best == "" && slips == nearest {
			best, nearest = each, slips
		}
	}
	if best != "" {
		return best
	}
	return contained(written, known)
}

// contained returns the only one of known that begins or ends like the name.
func contained(written string, known []string) string {
	const shortest = 4
	var found []string
	for _, each := range known {
		meant := plainName(each)
		short, long := written, meant
		if len(short) > len(long) {
			short, long = long, short
		}
		if len(short) >= shortest && (strings.HasPrefix(long, short) || strings.HasSuffix(long, short)) {
			found = append(found, each)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return ""
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// plainName is a name without letter case and separators, which authors often confuse.
func plainName(name string) string { return separators.Replace(strings.ToLower(name)) }

// distance is the number of letters to insert, leave out, replace or swap with
// their neighbour to make b of a; more than most if it is more than that.
func distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
