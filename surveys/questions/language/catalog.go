package language

// of returns a language by the first part of its code.
func of(base string) Language {
	switch base {
	case "en":
		return Language{
			Months:   list("January February March April May June July August September October November December"),
			Weekdays: list("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
			Digits:   list("one two three four five six seven eight nine"),
			And:      []string{"and"}, Particles: []string{"of", "the", "on"}, Ordinals: []string{"st", "nd", "rd", "th"},
			DontKnow: []string{"don't know", "I don't know", "do not know", "I do not know", "dunno", "idk"},
			Decimal:  '.', Groups: ",",
			Messages: map[string]string{"not_understood": "Sorry, we did not understand your answer.", "thanks": "Thank you for your answers.", "reminder": "We are still waiting for your answer."},
		}
	case "es":
		return Language{
			Months:   list("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
			Weekdays: list("lunes martes miércoles jueves viernes sábado domingo"),
			Digits:   list("uno dos tres cuatro cinco seis siete ocho nueve"),
			And:      []string{"y", "e"}, Particles: []string{"de", "del", "el"}, Ordinals: []string{"º", "o"},
			DontKnow: []string{"no sé", "no lo sé", "no sabe", "yo no sé", "no sabría decir"},
			Dates:    DayFirst,
			Messages: map[string]string{"not_understood": "No entendimos su respuesta.", "thanks": "Gracias por sus respuestas.", "reminder": "Seguimos esperando su respuesta."},
		}
	case "fr":
		return Language{
			Months:   list("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
			Weekdays: list("lundi mardi mercredi jeudi vendredi samedi dimanche"),
			Digits:   list("un deux trois quatre cinq six sept huit neuf"),
			And:      []string{"et"}, Particles: []string{"le", "de"}, Ordinals: []string{"er"},
			DontKnow: []string{"je ne sais pas", "sais pas", "je sais pas", "ne sais pas"},
			Decimal:  ',', Groups: " .", Dates: DayFirst,
			Messages: map[string]string{"not_understood": "Nous n'avons pas compris votre réponse.", "thanks": "Merci pour vos réponses.", "reminder": "Nous attendons toujours votre réponse."},
		}
	case "pt":
		return Language{
			Months:   list("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
			Weekdays: list("segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo"),
			Digits:   list("um dois três quatro cinco seis sete oito nove"),
			And:      []string{"e"}, Particles: []string{"de", "do", "o"}, Ordinals: []string{"º", "o"},
			DontKnow: []string{"não sei", "não sabe", "eu não sei", "sei lá"},
			Decimal:  ',', Groups: ". ", Dates: DayFirst,
			Messages: map[string]string{"not_understood": "Não entendemos a sua resposta.", "thanks": "Obrigado pelas suas respostas.", "reminder": "Continuamos à espera da sua resposta."},
		}
	default:
		return moreLanguages(base)
	}
}

func moreLanguages(base string) Language {
	switch base {
	case "sw":
		return Language{
			Months:   list("Januari Februari Machi Aprili Mei Juni Julai Agosti Septemba Oktoba Novemba Desemba"),
			Weekdays: list("Jumatatu Jumanne Jumatano Alhamisi Ijumaa Jumamosi Jumapili"),
			Digits:   list("moja mbili tatu nne tano sita saba nane tisa"),
			And:      []string{"na"}, Particles: []string{"tarehe", "mwezi", "wa"},
			DontKnow: []string{"sijui", "mimi sijui"},
			Decimal:  '.', Groups: ",", Dates: DayFirst,
		}
	case "id":
		return Language{
			Months:   list("Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember"),
			Weekdays: list("Senin Selasa Rabu Kamis Jumat Sabtu Minggu"),
			Digits:   list("satu dua tiga empat lima enam tujuh delapan sembilan"),
			And:      []string{"dan"}, Particles: []string{"tanggal"},
			DontKnow: []string{"tidak tahu", "saya tidak tahu", "gak tahu", "nggak tahu"},
			Decimal:  ',', Groups: ".", Dates: DayFirst,
		}
	case "tr":
		return Language{
			Months:   list("Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık"),
			Weekdays: list("Pazartesi Salı Çarşamba Perşembe Cuma Cumartesi Pazar"),
			Digits:   list("bir iki üç dört beş altı yedi sekiz dokuz"),
			And:      []string{"ve"},
			DontKnow: []string{"bilmiyorum", "ben bilmiyorum"},
			Decimal:  ',', Groups: ".", Dates: DayFirst,
		}
	case "ru":
		return Language{
			Months:   list("января февраля марта апреля мая июня июля августа сентября октября ноября декабря"),
			Weekdays: list("понедельник вторник среда четверг пятница суббота воскресенье"),
			Digits:   list("один два три четыре пять шесть семь восемь девять"),
			And:      []string{"и"}, Particles: []string{"года", "г"},
			DontKnow: []string{"не знаю", "я не знаю"},
			Decimal:  ',', Groups: " ", Dates: DayFirst,
		}
	case "ar":
		return Language{
			Months:   list("يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر"),
			Weekdays: list("الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد"),
			Digits:   list("واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة"),
			And:      []string{"و"},
			DontKnow: []string{"لا أعرف", "لا أعلم", "لا أدري"},
			Dates:    DayFirst,
		}
	case "hi":
		return Language{
			Months:   list("जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर"),
			Weekdays: list("सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार"),
			Digits:   list("एक दो तीन चार पाँच छह सात आठ नौ"),
			And:      []string{"और"},
			DontKnow: []string{"पता नहीं", "मुझे पता नहीं", "नहीं पता", "मालूम नहीं"},
			Decimal:  '.', Groups: ",", Dates: DayFirst,
		}
	default:
		return Language{}
	}
}
