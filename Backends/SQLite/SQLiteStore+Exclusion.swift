import CoherenceCore

extension SQLiteStore: WriterExcluding {
  func excludingWriters<T>(_ body: () throws -> T) throws -> T {
    try writableFile().excludingWriters(body)
  }
}
