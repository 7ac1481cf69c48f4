import CoherenceCore

extension InMemoryStore: WriterExcluding {
  func excludingWriters<T>(_ body: () throws -> T) throws -> T {
    try excludingWriters(timeout: nil, body)
  }

  func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T {
    try writableContent().excludingWriters(timeout: timeout, body)
  }
}
