import CoherenceCore

/// The properties whose values the server assigns; see ``Outbox/serverAssignedSetting``.
enum ServerAssigned {
  /// The key in `PropertyDescription.userInfo`.
  static let setting = "serverAssigned"
}

extension PropertyDescription {
  /// Whether the server assigns the value of the property.
  var isServerAssigned: Bool { !userInfo.isEmpty && userInfo[ServerAssigned.setting] == "true" }
}

extension EntityDescription {
  /// The names of the properties whose values the server assigns.
  var serverAssignedNames: Set<String> { Set(properties.lazy.filter(\.isServerAssigned).map(\.name)) }
}
