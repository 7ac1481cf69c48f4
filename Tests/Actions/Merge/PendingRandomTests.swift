import CoherenceActions
import CoherenceCore
import TestRandom
import TestSupport
import Testing

/// Random edits here and on the server, compared with the rules in their shortest form.
@Suite("Random merges under pending edits")
struct PendingRandomTests {
  /// A record's values.
  private struct Values: Equatable {
    var name: String
    var note: String
  }

  /// The state of one record before a merge, here and on the server.
  private struct Case {
    /// The server's last known values.
    var base: Values?
    var local: Values?
    /// The server's present values.
    var server: Values?

    init(_ random: inout SeededRandom) {
      let isKnown = Bool.random(using: &random)
      base = isKnown ? Values(name: "a", note: "a") : nil
      local = Self.changed(base, "local", &random)
      server = Self.changed(base, "server", &random)
    }

    private static func changed(_ values: Values?, _ side: String, _ random: inout SeededRandom) -> Values? {
      let choice = Int.random(in: 0..<5, using: &random)
      guard var values else { return choice < 2 ? Values(name: choice == 0 ? "both" : side, note: side) : nil }
      switch choice {
      case 0: return nil
      case 1: values.name = side
      case 2: values.note = Bool.random(using: &random) ? side : "both"
      case 3: values = Values(name: side, note: side)
      default: break
      }
      return values
    }

    /// The values after the merge.
    func expected(_ policy: MergeOptions.PendingEditsPolicy) -> Values? {
      guard let base else {
        guard let local else { return server }
        return policy == .server ? server ?? local : local
      }
      guard let local else { return nil }
      if local == base { return server }
      guard let server else { return policy == .server ? nil : local }
      func merged(_ property: KeyPath<Values, String>) -> String {
        if local[keyPath: property] == base[keyPath: property] { return server[keyPath: property] }
        let isChangedByBoth = server[keyPath: property] != base[keyPath: property]
        return policy == .server && isChangedByBoth ? server[keyPath: property] : local[keyPath: property]
      }
      return Values(name: merged(\.name), note: merged(\.note))
    }

    /// The pending edit of the record, after the user's changes.
    func edit(_ id: Int, of record: ManagedObjectID) -> PendingEdit? {
      guard let base else { return local == nil ? nil : PendingEdit(of: record, .insert) }
      let known: [String: AttributeValue] = [
        "id": .int(Int64(id)), "name": .string(base.name), "note": .string(base.note),
      ]
      guard let local else { return PendingEdit(of: record, .delete, base: known) }
      var changed: Set<String> = []
      if local.name != base.name { changed.insert("name") }
      if local.note != base.note { changed.insert("note") }
      return changed.isEmpty ? nil : PendingEdit(of: record, .update, changed: changed, base: known)
    }
  }

  private func records(_ values: [Int: Values]) -> [MergeRecord] {
    values.sorted { $0.key < $1.key }.map { MergeRecord(["id": $0, "name": $1.name, "note": $1.note]) }
  }

  private func stored(_ stack: MergeStack) throws -> [Int: Values] {
    try stack.read { context in
      Dictionary(
        uniqueKeysWithValues: try stack.objects("Artist", context).map {
          (
            Int(try $0.value(for: "id", as: Int32.self)),
            Values(name: try $0.value(for: "name", as: String.self), note: try $0.value(for: "note", as: String.self))
          )
        })
    }
  }

  @Test(arguments: Backend.available)
  func `a replacing merge has the result of its rules for any edits of both sides, and its repetition writes nothing`(
    backend: Backend
  ) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let cases = Dictionary(uniqueKeysWithValues: (0..<60).map { ($0, Case(&random)) })
      let stack = try MergeStack(backend)
      // The records of the server, and the user's changes, with their identifiers.
      try stack.merge(records(cases.compactMapValues(\.base)), into: "Artist")
      let known = try stack.artistIDs()
      try stack.merge(records(cases.compactMapValues(\.local)), into: "Artist")
      let ids = try stack.artistIDs().merging(known) { present, _ in present }
      let source = ScriptedEdits()
      for (id, each) in cases {
        if let record = ids[Int32(id)], let edit = each.edit(id, of: record) { source.add(edit) }
      }
      stack.connect.pendingEdits = source
      let page = records(cases.compactMapValues(\.server))
      let options = MergeOptions(mode: .replace, maximumDeletedShare: 1, pendingEdits: policy)
      try stack.merge(page, into: "Artist", options: options)
      let expected = cases.compactMapValues { $0.expected(policy) }
      #expect(try stored(stack) == expected, "seed \(seed), \(policy)")
      let again = try stack.merge(page, into: "Artist", options: options)
      #expect(again.inserted + again.updated + again.deleted == 0, "seed \(seed), \(policy)")
      #expect(try stored(stack) == expected, "seed \(seed), \(policy)")
    }
  }
}
