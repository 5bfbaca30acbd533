package questions

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/people"
	"weir/surveys/questions/language"
)

func validDay(s string) bool {
	_, err := time.Parse("2006-01-02", s)
	return err == nil
}

// readDate reads a date: in digits, as 2026-01-31 or in the order of the language, or with the name of
// a month. The year has four digits.
func readDate(text, code string) (string, bool) {
	l := language.Of(code)
	words := people.FoldWords(plainDigits(text))
	var numbers []string
	month := 0
	for _, word := range words {
		number := strings.TrimRight(word, "abcdefghijklmnopqrstuvwxyz")
		switch named := monthOf(word, l); {
		case digits(word), digits(number) && (foldedIn(l.Ordinals, word[len(number):])):
			numbers = append(numbers, number)
		case named > 0 && month == 0:
			month = named
		case foldedIn(l.Particles, word):
		default:
			return "", false
		}
	}
	if month > 0 {
		if len(numbers) == 2 && len(numbers[0]) == 4 {
			return day(numbers[0], itoa(month), numbers[1])
		}
		if len(numbers) == 2 {
			return day(numbers[1], itoa(month), numbers[0])
		}
		return "", false
	}
	if len(numbers) != 3 {
		return "", false
	}
	if a, b, c := numbers[0], numbers[1], numbers[2]; len(a) == 4 {
		return day(a, b, c)
	} else if l.Dates == language.DayFirst || a == b {
		return day(c, b, a)
	} else if l.Dates == language.MonthFirst {
		return day(c, a, b)
	} else {
		asDayFirst, first := day(c, b, a)
		asMonthFirst, second := day(c, a, b)
		if first != second { // only one of them is a date
			return asDayFirst + asMonthFirst, true
		}
	}
	return "", false
}

// day returns a date if it exists.
func day(year, month, day string) (string, bool) {
	y, m, d := parseInt(year), parseInt(month), parseInt(day)
	if s := fmt.Sprintf("%04d-%02d-%02d", y, m, d); len(year) == 4 && len(month) <= 2 && len(day) <= 2 && validDay(s) {
		return s, true
	}
	return "", false
}

func parseInt(s string) int {
	n, _ := strconv.Atoi(s) // of digits; too large: no date
	return n
}

// monthOf returns the month that a word names, whole or by its first letters; 0: none.
func monthOf(word string, l language.Language) (month int) {
	for _, names := range [][]string{l.Months, language.Of("en").Months} {
		for i, name := range names {
			switch name = fold(name); {
			case word == name:
				return i + 1
			case utf8.RuneCountInString(word) >= 3 && strings.HasPrefix(name, word):
				if month > 0 {
					return 0 // of two months
				}
				month = i + 1
			}
		}
		if month > 0 {
			return month
		}
	}
	return 0
}
