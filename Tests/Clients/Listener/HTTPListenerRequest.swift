package import Foundation

/// A request as a listener gets it.
package struct HTTPListenerRequest: Sendable {
  package var method: String
  package var path: String
  package var query: [String: String]
  /// The header fields in lower case.
  package var fields: [String: String]
  package var body: Data

  package init(method: String, path: String, query: [String: String], fields: [String: String], body: Data) {
    self.method = method
    self.path = path
    self.query = query
    self.fields = fields
    self.body = body
  }
}
