// Each function makes a part from its element. Attributes and elements that the part does not represent stay with it, so
// that they are written again.
extension ModelDecoder {
  mutating func composite(_ node: XMLNode) throws(XMLFault) -> ModelFile.Composite {
    var reader = ElementReader(node, path: path)
    var composite = ModelFile.Composite(try reader.required("name"), parts: [])
    composite.otherAttributes = reader.unreadAttributes
    for child in node.children {
      if child.name == "attribute" || child.name == "composite" {
        composite.parts.append(try attribute(child, in: composite.name))
      } else {
        composite.otherElements.append(markup(child))
      }
    }
    return composite
  }

  func configuration(_ node: XMLNode) throws(XMLFault) -> ModelFile.Configuration {
    var reader = ElementReader(node, path: path)
    var configuration = ModelFile.Configuration(try reader.required("name"), entities: [])
    configuration.otherAttributes = reader.unreadAttributes
    for child in node.children {
      if child.name == "memberEntity" {
        var member = ElementReader(child, path: path)
        configuration.entities.append(try member.required("name"))
      } else {
        configuration.otherElements.append(markup(child))
      }
    }
    configuration.entitiesSource = sourceElements(of: configuration.entities, "memberEntity", in: node)
    return configuration
  }

  /// A fetch request: a template of the model, or the request of a fetched property.
  func template(_ node: XMLNode) throws(XMLFault) -> ModelFile.FetchTemplate {
    var reader = ElementReader(node, path: path)
    var template = ModelFile.FetchTemplate(try reader.required("name"), entity: try reader.required("entity"))
    template.predicate = reader.nonEmptyText("predicateString")
    template.fetchLimit = try reader.count("fetchLimit")
    template.includesSubentities = try reader.flag("includeSubentities")
    template.otherAttributes = reader.unreadAttributes
    template.otherElements = node.children.map(markup)
    return template
  }

  func fetchedProperty(_ node: XMLNode) throws(XMLFault) -> ModelFile.FetchedProperty {
    var reader = ElementReader(node, path: path)
    var property = ModelFile.FetchedProperty(try reader.required("name"), request: nil)
    property.otherAttributes = reader.unreadAttributes
    for child in node.children {
      // A second request has no place in the property, and is kept as another element.
      if child.name == "fetchRequest", property.request == nil {
        property.request = try template(child)
      } else if child.name == "userInfo" {
        property.userInfo.merge(try userInfo(child)) { _, last in last }
      } else {
        property.otherElements.append(markup(child))
      }
    }
    property.userInfoSource = sourceElements(of: property.userInfo, "userInfo", in: node)
    return property
  }

  func index(_ node: XMLNode) throws(XMLFault) -> ModelFile.FetchIndex {
    var reader = ElementReader(node, path: path)
    var index = ModelFile.FetchIndex(try reader.required("name"), elements: [])
    index.otherAttributes = reader.unreadAttributes
    for child in node.children {
      guard child.name == "fetchIndexElement" else {
        index.otherElements.append(markup(child))
        continue
      }
      var element = ElementReader(child, path: path)
      let property = element.nonEmptyText("property")
      let expression = element.nonEmptyText("expression")
      guard property != nil || expression != nil else {
        throw element.fault("the element of an index has neither a property nor an expression")
      }
      let kind = element.nonEmptyText("type") ?? "Binary"
      let order = element.nonEmptyText("order") ?? "ascending"
      guard order == "ascending" || order == "descending" else {
        throw element.fault("the attribute 'order' is neither 'ascending' nor 'descending'")
      }
      index.elements.append(
        .init(
          property: property, expression: expression, kind: kind, isAscending: order == "ascending",
          otherAttributes: element.unreadAttributes, otherElements: child.children.map(markup)))
    }
    return index
  }

  /// The lists of properties in an element `uniquenessConstraints`.
  func uniqueness(_ node: XMLNode) throws(XMLFault) -> [[String]] {
    var lists: [[String]] = []
    for constraint in node.children where constraint.name == "uniquenessConstraint" {
      var names: [String] = []
      for part in constraint.children where part.name == "constraint" {
        var reader = ElementReader(part, path: path)
        names.append(try reader.required("value"))
      }
      guard !names.isEmpty else {
        throw ElementReader(constraint, path: path).fault("the constraint names no property")
      }
      lists.append(names)
    }
    return lists
  }
}
