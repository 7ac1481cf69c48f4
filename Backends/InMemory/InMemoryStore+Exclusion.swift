import CoherenceCore

extension InMemoryStore: WriterExcluding {
  func excludingWriters<T>(_ body: () throws -> T) throws -> T {
    try writableContent().excludingWriters(body)
  }
}
