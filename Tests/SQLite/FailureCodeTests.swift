import CoherenceCore
@testable import CoherenceSQLite
import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The errors for the codes of SQLite.
@Suite struct FailureCodeTests {
  static let codes: [(Int32, String, ErrorCode)] = [
    (26, "x", .notADatabase), (11, "x", .storeCorrupt), (13, "x", .storeFull), (9, "x", .cancelled),
    (10, "x", .inputOutput), (7, "x", .storeBusy),
    // Locks and permissions.
    (5, "x", .storeBusy), (6, "x", .storeBusy), (15, "x", .storeBusy), (8, "x", .storeReadOnly),
    (1032, "x", .storeInaccessible), (14, "x", .storeInaccessible), (3, "x", .storeInaccessible),
    (23, "x", .storeInaccessible),
    // Constraints: of references, of unique values, of keys, of row numbers and of conditions.
    (787, "x", .danglingReference), (2067, "x", .uniquenessViolated),
    (1555, "x", .uniquenessViolated), (2579, "x", .uniquenessViolated), (275, "x", .invalidValue),
    // Parts of the schema.
    (11, "malformed database schema (t) - near \"x\": syntax error", .schemaChanged),
    (11, "malformed database schema (t) - unknown table option: x", .schemaChanged),
    (11, "malformed database schema (t) - x", .storeCorrupt), (11, "x: syntax error", .storeCorrupt),
    (1, "no such column: x", .schemaChanged), (1, "no such table: x", .schemaChanged),
    (17, "table t has no column named x", .schemaChanged), (17, "x", .unsupported), (1, "x", .unsupported),
    // Limits.
    (1, "parser stack overflow", .limitExceeded), (1, "x too large", .limitExceeded),
    (1, "too many SQL variables", .limitExceeded), (1, "at most 64 tables in a join", .limitExceeded),
    (1, "x is too deep", .limitExceeded), (18, "x", .limitExceeded),
  ]

  @Test(arguments: codes)
  func `each code of SQLite has an error, and another attempt may succeed if the file is busy`(
    number: Int32, message: String, code: ErrorCode
  ) {
    let translator = SQLiteErrorTranslator(path: FileManager.default.temporaryDirectory.path + "/x.sqlite")
    let error = translator.coherenceError(SQLiteFailure(code: number, message: message))
    #expect(error.code == code)
    #expect(error.isRetryable == (code == .storeBusy))
    #expect(error.outcome == .notApplied)
  }

  @Test func `the error of a save of unknown outcome says when the outcome is known`() {
    var failure = SQLiteFailure(code: 10, message: "x")
    failure.isOutcomeUnknown = true
    let error = SQLiteErrorTranslator(path: "/x").coherenceError(failure)
    #expect(error.code == .inputOutput && error.outcome == .unknown)
    #expect(error.message.hasSuffix("Whether the save was applied shows when the file is opened the next time."))
  }

  @Test(arguments: [(19, false), (5, false), (6, false), (10, true), (13, true), (2067, false)] as [(Int32, Bool)])
  func `a refused commit is not applied, and any other failure leaves the outcome open`(
    code: Int32, mayHaveCommitted: Bool
  ) {
    #expect(SQLiteFailure(code: code, message: "x").mayHaveCommitted == mayHaveCommitted)
  }

  @Test(
    arguments: [
      (778, EFBIG, 13), (778, EDQUOT, 13), (4874, EFBIG, 13), (778, EIO, 778), (266, EFBIG, 266), (11, EFBIG, 11),
    ]
      as [(Int32, Int32, Int32)])
  func `a write that a quota or a limit for the size of files refuses is one on a full disk`(
    code: Int32, systemError: Int32, expected: Int32
  ) {
    #expect(SQLiteFailure.code(code, systemError: systemError) == expected)
  }

  @Test func `only an overflow of a sum is one`() {
    #expect(SQLiteFailure(code: 1, message: "integer overflow").isSumOverflow)
    #expect(SQLiteFailure(code: 1, message: SumFunction.overflowMessage).isSumOverflow)
    #expect(!SQLiteFailure(code: 1, message: "x").isSumOverflow)
    #expect(!SQLiteFailure(code: 19, message: "integer overflow").isSumOverflow)
  }

  @Test func `the error of an unopenable file names the obstacle`() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("coherence-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appendingPathComponent("file").path
    try Data().write(to: URL(fileURLWithPath: file))
    func obstacle(_ path: String) -> String? { SQLiteErrorTranslator.obstacle(path) }
    #expect(obstacle(directory.path) == "'\(directory.path)' is a directory; name a file in it.")
    #expect(obstacle(file) == nil)
    #expect(obstacle(directory.path + "/new") == nil)
    let missing = directory.path + "/missing"
    #expect(obstacle(missing + "/x") == "The directory '\(missing)' does not exist; create it before the store.")
    #expect(obstacle("/dev/null") == "'/dev/null' is a device, a pipe or a socket; choose another file for the store.")
    #expect(obstacle(file + "/x") == "'\(file)' is not a directory; choose another place for the store.")
  }

  // MARK: Values

  @Test(
    arguments: [
      (12.5, "12.5."), (100, "100."), (-0.001, "-0.001."), (1e16, "10000000000000000."), (1.25e-7, "0.000000125."),
      (1.25e30, "1250000000000000000000000000000."), (-2e20, "-200000000000000000000."),
    ] as [(Double, String)])
  func `a rounded sum is a decimal text with a mark, and is read unchanged`(number: Double, text: String) {
    #expect(RoundedDecimal.text(of: number) == text)
    let read = Array(text.utf8).withUnsafeBufferPointer { RoundedDecimal.number(in: $0) }
    #expect(read == number)
    let unmarked = Array(text.utf8.dropLast()).withUnsafeBufferPointer { RoundedDecimal.number(in: $0) }
    #expect(unmarked == nil)
  }

  @Test func `an arena takes texts up to its capacity, and takes them again once it is cleared`() {
    var arena = TextArena()
    let whole = arena.add(String(repeating: "x", count: 16_384))?.count
    #expect(whole == 16_384)
    let beyond = arena.add("a")?.count
    #expect(beyond == nil)
    arena.clear()
    let first = arena.add("ab")
    let second = arena.add("c")
    #expect(first?.count == 2 && second?.count == 1)
    #expect(second?.start == first.map { $0.start + 2 })
    let tooLong = arena.add(String(repeating: "x", count: 16_382))?.count
    #expect(tooLong == nil)
  }
}
