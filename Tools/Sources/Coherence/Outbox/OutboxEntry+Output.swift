import CoherenceCore
import CoherenceOutbox
import Foundation

extension OutboxEntry {
  static let columns = ["ID", "ENTITY", "KEY", "CHANGE", "STATE", "ATTEMPTS", "SAVED", "NEXT", "PROPERTIES", "ERROR"]

  var cells: [String] {
    [
      idText, entityName, "\(record.key)", "\(kind)", stateText, "\(attempts)", enqueuedDate.short,
      nextAttemptDate?.short ?? "–", properties.isEmpty ? "–" : properties.joined(separator: ","), lastError ?? "–",
    ]
  }

  var stateText: String { isRejected ? "\(state) (refused)" : "\(state)" }

  /// The names of the changed properties.
  private var properties: [String] { changes.map(\.name) + members.map(\.name) }

  /// - Parameter values: Whether the values of records are included.
  func json(values: Bool) -> JSON {
    let changed: [String: JSON] = Dictionary(
      changes.map { ($0.name, ["base": JSON($0.base), "value": JSON($0.value)]) }, uniquingKeysWith: { $1 })
    let related: [String: JSON] = Dictionary(
      members.map { member in
        (
          member.name,
          [
            "added": .array(member.added.map(JSON.init)), "isReordered": .bool(member.isReordered),
            "removed": .array(member.removed.map(JSON.init)),
          ]
        )
      }, uniquingKeysWith: { $1 })
    return [
      "id": idJSON, "entity": .string(entityName), "record": JSON(record), "kind": .string("\(kind)"),
      "state": .string("\(state)"), "isRejected": .bool(isRejected), "attempts": .number(attempts),
      "nextAttempt": .date(nextAttemptDate), "lastError": .text(lastError), "author": .text(author),
      "enqueued": .date(enqueuedDate), "idempotencyKey": .uuid(idempotencyKey), "sequence": .int(sequence),
      "transaction": .int(transaction), "recordVersion": .int(recordVersion), "leaseEnd": .date(leaseEnd),
      "claimant": .text(claimant), "isReadable": .bool(isReadable), "hasOmittedValues": .bool(hasOmittedValues),
      "properties": .array(properties.map(JSON.string)),
      "identity": values ? .object(identity.mapValues { JSON($0) }) : .null,
      "values": values ? .object(changed) : .null, "members": values ? .object(related) : .null,
    ]
  }

  func details(values: Bool) -> [(name: String, value: String)] {
    let optional: [(String, String?)] = [
      ("next attempt", nextAttemptDate?.short), ("last error", lastError), ("author", author),
      ("claimed until", leaseEnd?.short), ("claimed by", claimant),
    ]
    var result: [(name: String, value: String)] = [
      ("id", idText), ("entity", entityName), ("record", "\(record.rootName) \(record.key)"),
      ("change", "\(kind)"), ("state", stateText), ("attempts", "\(attempts)"), ("saved", enqueuedDate.short),
      ("idempotency key", idempotencyKey.uuidString),
    ]
    result += optional.compactMap { name, value in value.map { (name, $0) } }
    if !isReadable { result.append(("values", "not readable: written by a later release, or damaged")) }
    guard values else {
      return result + [("properties", properties.isEmpty ? "–" : properties.joined(separator: ", "))]
    }
    result += identity.sorted { $0.key < $1.key }.map { ("key \($0.key)", JSON($0.value).cell) }
    result += changes.map { ($0.name, "\(JSON($0.base).cell) → \(JSON($0.value).cell)") }
    return result + members.map { ($0.name, "+\($0.added.count) −\($0.removed.count)") }
  }
}

extension OutboxConflict {
  static let columns = ["ID", "ENTITY", "KIND", "FOUND", "PROPERTIES"]

  var cells: [String] {
    [
      "\(id.key)", entityName, "\(kind)", detectedDate.short,
      properties.isEmpty ? "–" : properties.map(\.name).joined(separator: ","),
    ]
  }

  /// - Parameter values: Whether the values of records are included.
  func json(values: Bool) -> JSON {
    func json(_ value: AttributeValue?) -> JSON { value.map { JSON($0) } ?? .null }
    let sides: [String: JSON] = Dictionary(
      properties.map { ($0.name, ["base": json($0.base), "local": json($0.local), "server": json($0.server)]) },
      uniquingKeysWith: { $1 })
    return [
      "id": .int(id.key), "entity": .string(entityName), "kind": .string("\(kind)"), "detected": .date(detectedDate),
      "properties": .array(properties.map { .string($0.name) }), "values": values ? .object(sides) : .null,
    ]
  }
}
