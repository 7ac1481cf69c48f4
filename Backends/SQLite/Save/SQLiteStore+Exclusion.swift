import CoherenceCore

extension SQLiteStore: WriterExcluding {
  func excludingWriters<T>(_ body: () throws -> T) throws -> T {
    try excludingWriters(timeout: nil, body)
  }

  func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T {
    try writableFile().excludingWriters(timeout: timeout, body)
  }
}
