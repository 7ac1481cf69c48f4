import CoherenceCore

/// A fault of a file of XML, with its location.
struct XMLFault: Error {
  let reason: String
  let path: String
  let line: Int?
  let element: String?

  /// - Parameters:
  ///   - reason: The end of a sentence, without a full stop.
  ///   - element: The name of the element, and of the entity or property that it declares.
  init(_ reason: String, path: String, line: Int? = nil, element: String? = nil) {
    self.reason = reason
    self.path = path
    self.line = line
    self.element = element
  }

  /// The fault as an error of the framework.
  var error: CoherenceError {
    let location = (line.map { ", line \($0)" } ?? "") + (element.map { ", \($0)" } ?? "")
    return CoherenceError(.invalidModel, "The model file '\(path)' cannot be read\(location): \(reason).")
  }
}
