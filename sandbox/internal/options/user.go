// SPDX-License-Identifier: Apache-2.0

package options

import "strings"

// maxCommonName is the longest common name that X.509 allows.
const maxCommonName = 64

// User is an identity at the API server of garden and seed, with this name and
// these groups. It has no rights.
type User struct {
	Name   string
	Groups []string
}

// ParseUser reads NAME[=GROUP,GROUP…].
func ParseUser(text string) (User, error) {
	name, groups, hasGroups := strings.Cut(text, "=")
	user := User{Name: name}
	if hasGroups {
		user.Groups = strings.Split(groups, ",")
	}
	if name == "" {
		return User{}, Invalidf("--user %q: the name is missing; write NAME or NAME=GROUP,GROUP", text)
	}
	if len(name) > maxCommonName {
		return User{}, Invalidf("--user %q: the name has %d characters; the common name of a certificate holds at most %d", text, len(name), maxCommonName)
	}
	for _, group := range user.Groups {
		if group == "" || len(group) > maxCommonName {
			return User{}, Invalidf("--user %q: group %q must have 1 to %d characters; write NAME=GROUP,GROUP", text, group, maxCommonName)
		}
	}
	return user, nil
}

func parseUsers(texts []string) ([]User, []error) {
	var users []User
	var errs []error
	seen := map[string]bool{}
	for _, text := range texts {
		user, err := ParseUser(text)
		switch {
		case err != nil:
			errs = append(errs, err)
		case seen[user.Name]:
			errs = append(errs, Invalidf("--user %q: %s is given twice; name each user once, with all its groups", text, user.Name))
		default:
			seen[user.Name] = true
			users = append(users, user)
		}
	}
	return users, errs
}
