// SPDX-License-Identifier: Apache-2.0

//go:build race

package plugins_test

// raceDetector says whether the tests run with -race.
const raceDetector = true
