import CoherenceCore

/// The rows of aggregate requests, computed from plain records as the documentation describes them.
struct PlainGroups {
  enum Outcome {
    case rows([[PlainResult]])
    /// The request throws, because a sum of a row is out of the range of its type.
    case overflow
  }

  /// Records with equal values of the group keys.
  private struct Group {
    let key: [AttributeValue]
    var members: [Int]
  }

  private let records: PlainRecords
  private let request: AggregateRequest<ManagedObject>

  init(_ request: AggregateRequest<ManagedObject>, over records: PlainRecords) {
    self.request = request
    self.records = records
  }

  /// The rows of the request, in its order.
  var outcome: Outcome {
    let groups = groups().filter { group in
      request.havingPredicate?.isTrue { column($0, of: group).value } ?? true
    }
    let rows = Self.range(sorted(groups), request.fetchOffset, request.fetchLimit).map { group in
      request.propertiesToFetch.map { column(PropertyPath($0.expression), of: group) }
    }
    let isBeyond = rows.contains { row in
      row.contains { if case .overflow = $0 { true } else { false } }
    }
    return isBeyond ? .overflow : .rows(rows)
  }

  private static func range<Element>(_ elements: [Element], _ offset: Int, _ limit: Int?) -> [Element] {
    let rest = elements.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  // MARK: Records

  /// The numbers of the records that the fetch finds, in its range.
  private func fetched() -> [Int] {
    let fetch = request.records
    let found = records.numbers(of: fetch.entityName ?? "", withSubentities: fetch.includesSubentities)
      .filter { number in
        fetch.predicate?.isTrue { records.value(at: $0.names[...], of: number) } ?? true
      }
    let areAscending = fetch.sortKeys.map(\.isAscending)
    let sorted = found.map { number in
      (number: number, values: fetch.sortKeys.map { records.value(at: $0.path.names[...], of: number) })
    }
    .sorted { Self.precedes($0.values, $1.values, areAscending) }
    return Self.range(sorted.map { $0.number }, fetch.fetchOffset, fetch.fetchLimit)
  }

  private static func precedes(
    _ left: [AttributeValue], _ right: [AttributeValue], _ areAscending: [Bool]
  ) -> Bool {
    for (index, isAscending) in areAscending.enumerated() {
      let order = PlainOrder.order(left[index], right[index])
      if order != 0 { return isAscending ? order < 0 : order > 0 }
    }
    return false
  }

  // MARK: Groups

  private func groups() -> [Group] {
    let paths = request.propertiesToGroupBy.map { PropertyPath($0).names }
    // Without group keys all records are one group, even without any record.
    guard !paths.isEmpty else { return [Group(key: [], members: fetched())] }
    var groups: [Group] = []
    for number in fetched() {
      let key = paths.map { records.value(at: $0[...], of: number) }
      let index = groups.firstIndex { group in
        zip(group.key, key).allSatisfy { PlainOrder.order($0, $1) == 0 }
      }
      if let index {
        groups[index].members.append(number)
      } else {
        groups.append(Group(key: key, members: [number]))
      }
    }
    return groups
  }

  /// The groups in the order of the request. Groups that are equal by it come in the order of their keys.
  private func sorted(_ groups: [Group]) -> [Group] {
    let areAscending = request.sortKeys.map(\.isAscending) + request.propertiesToGroupBy.map { _ in true }
    return groups.map { group in
      (group: group, values: request.sortKeys.map { column($0.path, of: group).value } + group.key)
    }
    .sorted { Self.precedes($0.values, $1.values, areAscending) }
    .map { $0.group }
  }

  /// The result of a column in a group.
  ///
  /// - Parameter path: The name of a fetched column, or an expression.
  private func column(_ path: PropertyPath, of group: Group) -> PlainResult {
    let name = path.description
    let expression = request.propertiesToFetch.first { $0.name == name }?.expression ?? name
    if let index = request.propertiesToGroupBy.firstIndex(of: expression) { return .value(group.key[index]) }
    return records.aggregate(PropertyPath(expression).names[...], of: group.members)
  }
}
