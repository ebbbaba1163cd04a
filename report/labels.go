package report

// russian are the labels of the interval report in Russian. They are the words of the DVM school's analyzers, where these have
// one.
var russian = map[string]string{
	"Main Characteristics":       "Основные характеристики",
	"Parallelization Efficiency": "Коэффициент эффективности",
	"Execution Time":             "Время выполнения",
	"Processors":                 "Число процессоров",
	"Total Time":                 "Общее время",
	"Productive Time":            "Полезное время",
	"Lost Time":                  "Потерянное время",
	"---MPI Time":                "---Время MPI",
	"---Idle Time":               "---Простои",
	"---Marker Time":             "---Время меток",
	"---Device Wait":             "---Ожидание ускорителя",
	"---Device Call":             "---Вызовы ускорителя",
	"---Lock Wait":               "---Ожидание блокировок",
	"---Measurement Overhead":    "---Накладные расходы",
	"---File I/O":                "---Ввод-вывод",
	"Set-up and End":             "Запуск и завершение",
	"Communication":              "Коммуникации",
	"Point to Point":             "Операции точка-точка",
	"Collective":                 "Коллективные операции",
	"---All to All":              "---Все со всеми",
	"---Barrier":                 "---Барьеры",
	"One-sided":                  "Односторонние операции",
	"MPI-IO":                     "Файловый ввод-вывод MPI",
	"MPI Management":             "Управление",
	"Starting Only":              "Запуск операций",
	"Message Spans":              "Пересылка сообщений",
	"Potential Losses":           "Потенциальные потери",
	"Synchronization":            "Синхронизация",
	"Time Variation":             "Разброс времен",
	"Load Imbalance":             "Разбалансировка",
	"Dephasing":                  "Рассогласование",
	"Overlap":                    "Перекрытие",
	"Wait States":                "Ожидания",
	"Late Sender":                "Поздняя отправка",
	"---Wrong Order Same":        "---порядок, тот же",
	"---Wrong Order Other":       "---порядок, другой",
	"Late Receiver":              "Поздний прием",
	"Late Progress":              "Поздний прогресс",
	"Wait at Barrier":            "Ожидание барьера",
	"Barrier Completion":         "Завершение барьера",
	"Wait at NxN":                "Ожидание NxN",
	"NxN Completion":             "Завершение NxN",
	"Late Broadcast":             "Поздняя рассылка",
	"Early Reduce":               "Ранняя редукция",
	"Early Scan":                 "Ранний Scan",
	"All Waits":                  "Все ожидания",
	"POP":                        "POP",
	"Parallel Efficiency":        "Параллельная эфф.",
	"Load Balance":               "Балансировка",
	"Communication Efficiency":   "Эфф. коммуникаций",
	"Serialisation Efficiency":   "Эфф. сериализации",
	"Transfer Efficiency":        "Эфф. передачи",
	"I/O Efficiency":             "Эфф. ввода-вывода",
	"Balance of I/O":             "Балансировка ввода-вывода",
	"Characteristics":            "Характеристики",
	"Without Inner Intervals":    "Без вложенных интервалов",
	"Time":                       "Время",
	"CPU Time":                   "Время процессора",
	"MPI Time":                   "Время MPI",

	"rule: MPI time of one processor (%s) counts as productive": "правило: время MPI одного процессора (%s) считается полезным",
	"rule: no MPI time counts as productive":                    "правило: время MPI не считается полезным",
}

// wording translates labels.
type wording struct{ russian bool }

func (l wording) of(text string) string {
	if t, ok := russian[text]; ok && l.russian {
		return t
	}
	return text
}
