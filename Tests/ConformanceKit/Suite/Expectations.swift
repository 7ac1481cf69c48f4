import CoherenceCore

// The expectations of cases. A failed expectation throws `ConformanceFailure`.

func expect(
  _ condition: @autoclosure () throws -> Bool, _ message: @autoclosure () -> String, file: StaticString = #fileID,
  line: UInt = #line
) throws {
  if try !condition() { throw ConformanceFailure("expected \(message())", file: file, line: line) }
}

func expectEqual<T: Equatable>(
  _ actual: T, _ expected: T, _ what: @autoclosure () -> String = "it", file: StaticString = #fileID,
  line: UInt = #line
) throws {
  if actual == expected { return }
  throw ConformanceFailure("expected \(what()) to be \(expected), found \(actual)", file: file, line: line)
}

/// Fails unless the body throws an error of the given code, and returns the error.
@discardableResult
func expectThrows<T>(
  _ code: ErrorCode, file: StaticString = #fileID, line: UInt = #line, _ body: () throws -> T
) throws -> CoherenceError {
  try expectThrows(oneOf: [code], file: file, line: line, body)
}

/// Fails unless the body throws an error of one of the given codes, and returns the error.
@discardableResult
func expectThrows<T>(
  oneOf codes: [ErrorCode], file: StaticString = #fileID, line: UInt = #line, _ body: () throws -> T
) throws -> CoherenceError {
  let names = codes.map(\.rawValue).joined(separator: " or ")
  do {
    _ = try body()
  } catch let error as CoherenceError where codes.contains(error.code) {
    if error.message.isEmpty { throw ConformanceFailure("'\(names)' came without a message", file: file, line: line) }
    return error
  } catch {
    throw ConformanceFailure("expected the error '\(names)', got \(error)", file: file, line: line)
  }
  throw ConformanceFailure("expected the error '\(names)', none was thrown", file: file, line: line)
}

/// Returns the value, or fails if the value is `nil`.
func unwrap<T>(
  _ value: T?, _ what: @autoclosure () -> String = "a value", file: StaticString = #fileID, line: UInt = #line
) throws -> T {
  guard let value else { throw ConformanceFailure("expected \(what()), found none", file: file, line: line) }
  return value
}
