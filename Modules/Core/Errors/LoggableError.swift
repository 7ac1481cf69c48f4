import Foundation

/// An error whose text may be written to logs as it is.
///
/// The framework's logs contain the text of these errors only. Of any other error they contain the type, the case of an
/// enumeration, and the code of a system error, because the text may quote an address with a token or a value that a
/// user entered. The whole error is available to its receiver: in the action's handle, or in the error handler.
///
/// ```swift
/// enum SyncError: LoggableError {
///   case rejected(status: Int, body: String)
///
///   var logDescription: String {
///     switch self { case .rejected(let status, _): "The service rejected the batch with status \(status)." }
///   }
/// }
/// ```
public protocol LoggableError: Error {
  /// A sentence about the failure, without values of records, credentials, addresses or contents of messages.
  var logDescription: String { get }
}

extension CoherenceError: LoggableError {
  /// The error's ``CoherenceError/description``, which contains no values of records.
  public var logDescription: String { description }
}

extension Error {
  /// The text for logs; see ``LoggableError``.
  package var logText: String {
    if let error = self as? any LoggableError { return error.logDescription }
    let typeName = "\(type(of: self))"
    if let error = self as? any CustomNSError { return "\(typeName) \(error.errorCode)" }
    let mirror = Mirror(reflecting: self)
    guard mirror.displayStyle == .enum else { return typeName }
    // The label of an enumeration case with values is the name of the case. The values are left out.
    if let name = mirror.children.first?.label { return "\(typeName).\(name)" }
    return describesItself ? typeName : "\(typeName).\(self)"
  }

  /// Whether the error has a text of its own, other than the name of its case.
  private var describesItself: Bool {
    let type = Self.self as Any.Type
    return type is any CustomStringConvertible.Type || type is any CustomDebugStringConvertible.Type
      || type is any TextOutputStreamable.Type
  }
}
