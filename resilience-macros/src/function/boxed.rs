//! Return types: the boxed future that `#[async_trait]` makes, and `impl Trait` inside.

use std::ops::BitOr;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{AssocType, GenericArgument, PathArguments, PathSegment, ReturnType, Token, Type, TypeInfer, TypeParamBound};

/// `R` of `Pin<Box<dyn Future<Output = R> + …>>`, recognised by the type and not by how the body makes it.
pub(super) fn output(output: &ReturnType) -> Option<&Type> {
    let ReturnType::Type(_, ty) = output else { return None };
    let inside = argument(last_segment(ty)?, "Pin")?;
    let Type::TraitObject(object) = bare(argument(last_segment(inside)?, "Box")?) else {
        return None;
    };
    object.bounds.iter().find_map(|bound| match bound {
        TypeParamBound::Trait(bound) => future_output(bound.path.segments.last()?),
        _ => None,
    })
}

fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        other => other,
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match bare(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// `T` of `name<T>`.
fn argument<'t>(segment: &'t PathSegment, name: &str) -> Option<&'t Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    if segment.ident != name {
        return None;
    }
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn future_output(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    if segment.ident != "Future" {
        return None;
    }
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(AssocType { ident, ty, .. }) if ident == "Output" => Some(ty),
        _ => None,
    })
}

/// The type with `_` in the place of each `impl Trait`, which may not be written in a body; `None` without one.
pub(super) fn without_opaque(ty: &Type) -> Option<TokenStream> {
    let mut ty = syn::parse2(ty.to_token_stream()).ok()?;
    erase(&mut ty).then(|| ty.into_token_stream())
}

fn erase(ty: &mut Type) -> bool {
    match ty {
        Type::ImplTrait(opaque) => {
            let underscore_token = Token![_](opaque.impl_token.span);
            *ty = Type::Infer(TypeInfer {
                attrs: Vec::new(),
                underscore_token,
            });
            true
        }
        Type::Array(array) => erase(&mut array.elem),
        Type::Group(group) => erase(&mut group.elem),
        Type::Paren(paren) => erase(&mut paren.elem),
        Type::Ptr(pointer) => erase(&mut pointer.elem),
        Type::Reference(reference) => erase(&mut reference.elem),
        Type::Slice(slice) => erase(&mut slice.elem),
        Type::Tuple(tuple) => erase_each(&mut tuple.elems),
        Type::Path(path) => path.path.segments.iter_mut().map(erase_in).fold(false, BitOr::bitor),
        _ => false,
    }
}

fn erase_each(types: &mut Punctuated<Type, Token![,]>) -> bool {
    types.iter_mut().map(erase).fold(false, BitOr::bitor)
}

fn erase_in(segment: &mut PathSegment) -> bool {
    let PathArguments::AngleBracketed(arguments) = &mut segment.arguments else {
        return false;
    };
    arguments.args.iter_mut().fold(false, |found, argument| match argument {
        GenericArgument::Type(ty) => erase(ty) || found,
        _ => found,
    })
}
