/// The kinds of the server's documents, by the paths of their addresses.
enum TodoKind: String, Sendable, CaseIterable {
  case lists, tags, tasks
}

/// A value of a document.
enum TodoField: Codable, Sendable, Hashable {
  case null
  case bool(Bool)
  case int(Int64)
  case text(String)
  case keys([Int64])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .int(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else {
      self = .keys(try container.decode([Int64].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .keys(let value): try container.encode(value)
    }
  }
}

/// A list, a tag or a task in the server's format.
struct TodoDocument: Codable, Sendable, Hashable {
  var id: Int64
  var revision: Int64
  var fields: [String: TodoField]
}

/// A change of a document: new values, the values that the change is based on, and the tasks that a tag gains and loses.
struct TodoEdit: Codable, Sendable, Hashable {
  var fields: [String: TodoField] = [:]
  var base: [String: TodoField] = [:]
  var added: [Int64] = []
  var removed: [Int64] = []
}

/// The changes of one kind since a cursor.
struct TodoPage: Codable, Sendable, Hashable {
  var records: [TodoDocument]
  var deleted: [Int64]
  var cursor: String
  var hasMore: Bool
  /// Whether the records are all documents of the kind.
  var isComplete: Bool
}
