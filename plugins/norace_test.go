// SPDX-License-Identifier: Apache-2.0

//go:build !race

package plugins_test

// raceDetector reports whether the tests run with -race.
const raceDetector = false
