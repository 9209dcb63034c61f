//! What is found at link time: one static per annotated function.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::ext::IdentExt;

use super::site;
use crate::args::Form;
use crate::check::Guarded;
use crate::code::Code;

impl Guarded {
    /// The static that says at link time that this function exists. Each item with a body costs every user the check of
    /// one, so what says where the function stands is a type, which has none.
    pub(super) fn statics(&self) -> TokenStream {
        let krate = &self.krate;
        let dependency = Literal::string(&self.dependency);
        let function = Literal::string(&self.function.signature.ident.unraw().to_string());
        let policy_file = Literal::string(self.source.name());
        let policy = self.source.text();
        let layers = self.layers.iter().map(|kind| {
            let name = format_ident!("LAYER_{}", kind.name().to_uppercase(), span = site());
            quote_spanned!(site()=> #krate::private::#name)
        });
        let forms = self.forms.iter().map(|form| {
            let form = form_spec(form);
            quote_spanned!(site()=> #krate::private::Form::#form)
        });
        let plain = self.classify.is_some() && matches!(self.forms.last(), Some(Form::Value(_)));
        quote_spanned! {site()=>
            enum __ResilienceHere {}
            static __RESILIENCE_SITE: #krate::private::Site = #krate::private::Site::new(#krate::private::Spec {
                dependency: #dependency,
                function: #function,
                module: ::core::module_path!(),
                here: ::core::any::type_name::<__ResilienceHere>,
                file: ::core::file!(),
                line: ::core::line!(),
                package: ::core::env!("CARGO_PKG_NAME"),
                policy_file: #policy_file,
                policy: #krate::private::text(#policy, ::core::option_env!("RESILIENCE_POLICY")),
                layers: #(#layers)|*,
                forms: &[#(#forms),*],
                plain: #plain,
            });
            #krate::private::inventory::submit! { #krate::private::SiteRef::new(&__RESILIENCE_SITE) }
        }
    }
}

/// `path` as `Path("path")`.
fn form_spec(form: &Form) -> TokenStream {
    let text = |code: &Code| Literal::string(&code.text());
    match form {
        Form::Value(_) => quote_spanned!(site()=> Value),
        Form::Path(path, _) => {
            let text = text(path);
            quote_spanned!(site()=> Path(#text))
        }
        Form::With(given, _) => {
            let text = text(&given.code);
            quote_spanned!(site()=> With(#text))
        }
        Form::Stale(..) => quote_spanned!(site()=> Stale),
        Form::Refuse(given) => {
            let text = text(&given.code);
            quote_spanned!(site()=> Refuse(#text))
        }
        Form::None(_, reason) => {
            let text = Literal::string(&reason.value());
            quote_spanned!(site()=> None(#text))
        }
    }
}
