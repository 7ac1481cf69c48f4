import CoherenceCore

extension [[MergeRecord]] {
  /// The records of successive pages, as the records of one page. A record on two pages has the values and links of the
  /// later page, and those of the earlier page that the later one does not contain. A link that contradicts a link of a
  /// later page gives way to it. Several records with one key on the same page stay several records, which the options of
  /// the merge concern.
  ///
  /// - Parameter duplicates: The policy of the merge for several records with one key. The record that it chooses on a
  ///   page continues the record of the earlier pages.
  func combined(_ layout: MergeLayout, _ duplicates: MergeOptions.DuplicatePolicy) throws -> [MergeRecord] {
    guard count > 1 else { return first ?? [] }
    let names = layout.relationships.map(\.name)
    var records: [MergeRecord] = []
    // The numbers of the pages that the links of the records are from.
    var linkPages: [[String: Int]] = []
    var indexes: [MergeKey: Int] = [:]
    for (number, page) in enumerated() {
      var pageIndexes: [MergeKey: Int] = [:]
      // The records as the earlier pages have them, of the keys on this page.
      var formerRecords: [MergeKey: (record: MergeRecord, linkPages: [String: Int])] = [:]
      for (record, key) in zip(page, try page.keys(layout)) {
        let ownPages = record.linkPages(names, number)
        if !key.isIncomplete, pageIndexes[key] == nil, let index = indexes[key] {
          formerRecords[key] = (records[index], linkPages[index])
          records[index].update(from: record)
          linkPages[index].merge(ownPages) { $1 }
          pageIndexes[key] = index
        } else {
          if !key.isIncomplete, pageIndexes[key] == nil || duplicates == .lastWins { pageIndexes[key] = records.count }
          var combined = duplicates == .lastWins ? formerRecords[key] : nil
          combined?.record.update(from: record)
          combined?.linkPages.merge(ownPages) { $1 }
          records.append(combined?.record ?? record)
          linkPages.append(combined?.linkPages ?? ownPages)
        }
      }
      indexes.merge(pageIndexes) { $1 }
    }
    if names.isEmpty { return records }
    var links = try PagedLinks(records, from: linkPages, layout, duplicates)
    try links.resolve()
    return links.records
  }
}

extension [MergeRecord] {
  /// The keys of the records, in the order of the records. A key may be incomplete.
  func keys(_ layout: MergeLayout) throws -> [MergeKey] {
    let input = RecordInput(self, layout: layout)
    var values = [AttributeValue](repeating: .null, count: layout.keys.count)
    return try indices.map { index in
      try input.readKey(index, into: &values)
      return MergeKey(values: values)
    }
  }
}

extension MergeRecord {
  /// Sets the values and links that a later state of the record contains. A to-one relationship may be among the values
  /// of one state and among the links of the other; a merge reads links before values.
  fileprivate mutating func update(from later: MergeRecord) {
    for name in later.values.keys { links[name] = nil }
    values.merge(later.values) { $1 }
    links.merge(later.links) { $1 }
  }

  /// The number of the record's page, by the names of the relationships that the record links.
  fileprivate func linkPages(_ names: [String], _ page: Int) -> [String: Int] {
    var pages: [String: Int] = [:]
    for name in names where links[name] != nil || values[name] != nil { pages[name] = page }
    return pages
  }
}

extension [DeltaPage] {
  /// Successive pages as one page. A record of an earlier page that a later page deletes is left out. A record that an
  /// earlier page deletes and a later page contains is updated.
  func combined(_ layout: MergeLayout, _ duplicates: MergeOptions.DuplicatePolicy) throws -> DeltaPage {
    // A complete page has all records, and replaces the pages before it.
    guard var combined = last, count > 1, !combined.isComplete else { return last ?? DeltaPage() }
    var records: [[MergeRecord]] = []
    for page in self {
      let present = Set(try page.records.keys(layout))
      let deleted = Set(page.tombstones.map { $0.converted(to: layout.keys.map(\.description)) }).subtracting(present)
      if !deleted.isEmpty {
        records = try records.map { records in
          zip(records, try records.keys(layout)).filter { !deleted.contains($1) }.map(\.0)
        }
      }
      records.append(page.records)
    }
    combined.records = try records.combined(layout, duplicates)
    combined.tombstones = flatMap(\.tombstones)
    combined.cursor = self.last { $0.cursor != nil }?.cursor
    return combined
  }
}
