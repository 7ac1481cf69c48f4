/// The sections of a live result: the values of the first sort key, in order, with their numbers of records.
struct SectionCounts: Sendable {
  struct Section: Sendable {
    let value: AttributeValue
    var count: Int
  }

  private let order: ResultOrder
  private(set) var sections: [Section] = []

  init(_ entries: some Sequence<ResultEntry>, order: ResultOrder) {
    self.order = order
    for entry in entries {
      guard let value = entry.values.first else { continue }
      if let last = sections.last, order.orderOfSections(last.value, value) == 0 {
        sections[sections.count - 1].count += 1
      } else {
        sections.append(Section(value: value, count: 1))
      }
    }
  }

  mutating func insert(_ entry: ResultEntry) {
    guard let value = entry.values.first else { return }
    let index = insertionIndex(of: value)
    if isSection(index, of: value) {
      sections[index].count += 1
    } else {
      sections.insert(Section(value: value, count: 1), at: index)
    }
  }

  mutating func remove(_ entry: ResultEntry) {
    guard let value = entry.values.first else { return }
    let index = insertionIndex(of: value)
    guard isSection(index, of: value) else { return }
    sections[index].count -= 1
    if sections[index].count == 0 { sections.remove(at: index) }
  }

  /// The index of the section with a value; `nil` without such a section.
  func index(of value: AttributeValue) -> Int? {
    let index = insertionIndex(of: value)
    return isSection(index, of: value) ? index : nil
  }

  private func isSection(_ index: Int, of value: AttributeValue) -> Bool {
    index < sections.count && order.orderOfSections(sections[index].value, value) == 0
  }

  /// The index of the section with a value, or of the first section after the value.
  private func insertionIndex(of value: AttributeValue) -> Int {
    SortedEntries.partition(sections.count) { order.orderOfSections(sections[$0].value, value) < 0 }
  }
}
